//! [`OutputFormat`]: `output_config.format`.

use std::collections::BTreeSet;

use serde_json::Value;
use serde_json::value::RawValue;

use super::chat::{OutputSchema, ResponseFormat};
use crate::upstream::openai::profile::Profile;
use crate::upstream::openai::warnings::WarningCode;
use crate::wire::error::ApiError;
use crate::wire::object::Object;
use crate::wire::request::MessagesRequest;

/// Format of the output.
#[derive(Debug)]
pub(super) struct OutputFormat {
    schema: Box<RawValue>,
}

impl OutputFormat {
    /// Reads the format of a request, from `output_config.format` or the former `output_format`.
    pub(super) fn read(request: &MessagesRequest) -> Result<Option<Self>, ApiError> {
        let config = request.get("output_config").and_then(Object::from_json);
        let format = config
            .and_then(|config| config.get("format"))
            .or_else(|| request.get("output_format"));
        let Some(format) = format.filter(|format| *format != "null") else {
            return Ok(None);
        };
        let schema = Object::from_json(format)
            .filter(|format| format.is("type", "json_schema"))
            .and_then(|format| RawValue::from_string(format.get("schema")?.to_owned()).ok());
        match schema {
            Some(schema) => Ok(Some(Self { schema })),
            None => Err(ApiError::invalid(
                "output_config.format: expected `json_schema` with a schema",
            )),
        }
    }

    /// Builds the instruction for a server that accepts no schemas.
    fn instruction(&self) -> String {
        format!(
            "Answer with a single JSON object that conforms to this JSON Schema, and with no other text:\n{}",
            self.schema.get()
        )
    }

    /// Returns the field `response_format` with the schema.
    fn into_response_format(self) -> ResponseFormat {
        let strict = serde_json::from_str(self.schema.get()).is_ok_and(|schema| is_strict(&schema));
        ResponseFormat::JsonSchema {
            json_schema: OutputSchema {
                name: "response",
                schema: self.schema,
                strict,
            },
        }
    }
}

/// The output format as fields of a request for Chat Completions.
#[derive(Debug, Default)]
pub(super) struct TranslatedFormat {
    pub(super) response_format: Option<ResponseFormat>,
    /// Text for the system prompt.
    pub(super) instruction: Option<String>,
}

impl TranslatedFormat {
    /// Translates a format for a profile.
    pub(super) fn new(
        format: Option<OutputFormat>,
        profile: &Profile,
        warnings: &mut BTreeSet<WarningCode>,
    ) -> Self {
        let Some(format) = format else {
            return Self::default();
        };
        if profile.json_schema {
            return Self {
                response_format: Some(format.into_response_format()),
                instruction: None,
            };
        }
        warnings.insert(WarningCode::JsonSchema);
        Self {
            instruction: Some(format.instruction()),
            response_format: Some(ResponseFormat::JsonObject),
        }
    }
}

/// Returns whether all objects of a schema are closed, and require all their properties.
fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Array(items) => items.iter().all(is_strict),
        Value::Object(fields) => {
            let is_object =
                fields.get("type").is_some_and(|kind| kind == "object") || fields.contains_key("properties");
            let required: Vec<&str> = fields
                .get("required")
                .and_then(Value::as_array)
                .map_or(Vec::new(), |names| {
                    names.iter().filter_map(Value::as_str).collect()
                });
            let properties = fields.get("properties").and_then(Value::as_object);
            let is_closed = fields.get("additionalProperties") == Some(&Value::Bool(false));
            let are_required =
                properties.is_none_or(|all| all.keys().all(|name| required.contains(&name.as_str())));
            (!is_object || is_closed && are_required)
                && fields.iter().all(|(name, value)| match name.as_str() {
                    // Values are no schemas.
                    "enum" | "const" | "default" | "examples" => true,
                    "properties" | "$defs" | "definitions" => value
                        .as_object()
                        .is_none_or(|schemas| schemas.values().all(is_strict)),
                    _ => is_strict(value),
                })
        }
        _ => true,
    }
}
