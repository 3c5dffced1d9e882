//! [`FIELDS`]: the fields of a request, and their treatment.

use std::collections::BTreeSet;

use crate::upstream::openai::warnings::WarningCode;
use crate::wire::error::ApiError;
use crate::wire::request::MessagesRequest;

/// Treatment of a field.
#[derive(Debug, Clone, Copy)]
pub(super) enum FieldTreatment {
    /// The field is translated.
    Translated,
    /// The field is not sent, and a warning is counted.
    Warned(WarningCode),
    /// The request is rejected, unless the field is empty.
    Rejected,
}

use FieldTreatment::{Rejected, Translated, Warned};

/// Fields of the Messages API. Other fields are [`WarningCode::UnknownField`].
pub(super) const FIELDS: [(&str, FieldTreatment); 24] = [
    ("model", Translated),
    ("messages", Translated),
    ("system", Translated),
    ("max_tokens", Translated),
    ("tools", Translated),
    ("tool_choice", Translated),
    ("stop_sequences", Translated),
    ("temperature", Translated),
    ("top_p", Translated),
    ("top_k", Translated),
    ("output_config", Translated),
    ("output_format", Translated),
    ("thinking", Translated),
    ("metadata", Translated),
    ("service_tier", Translated),
    ("speed", Translated),
    ("stream", Translated),
    ("cache_control", Translated),
    ("context_management", Warned(WarningCode::ContextManagement)),
    ("diagnostics", Warned(WarningCode::Diagnostics)),
    ("fallbacks", Warned(WarningCode::Fallbacks)),
    ("mcp_servers", Rejected),
    ("container", Rejected),
    ("thread", Rejected),
];

/// Checks the fields of a request.
pub(super) fn check(request: &MessagesRequest, warnings: &mut BTreeSet<WarningCode>) -> Result<(), ApiError> {
    for field in request.sorted_settings() {
        if matches!(field.value, "null" | "[]") {
            continue;
        }
        let treatment = FIELDS.iter().find(|(name, _)| field.is(name));
        match treatment {
            Some((_, Translated)) => {}
            Some((_, Warned(code))) => {
                warnings.insert(*code);
            }
            Some((name, Rejected)) => {
                let message = format!("{name}: this upstream cannot receive the field; remove it");
                return Err(match *name {
                    "thread" => ApiError::unsupported_thread(message),
                    _ => ApiError::invalid(message),
                });
            }
            None => {
                warnings.insert(WarningCode::UnknownField);
            }
        }
    }
    Ok(())
}
