//! Converts schemas to the subsets of JSON Schema for strict function calling by OpenAI and Anthropic.
//!
//! OpenAI's subset (<https://platform.openai.com/docs/guides/structured-outputs#supported-schemas>): the root is an
//! object and not a union; all properties are in `required`, with `additionalProperties: false` (an optional property
//! may be `null`, which counts as missing); unions are `anyOf`; the constraints are `enum`, `const`, `pattern`, some
//! `format`s, the limits of numbers and `minItems`/`maxItems`. Other constraints move to the description or are
//! dropped, with a [`Note`]; calls still enforce them. Schemas without an equivalent (maps with any keys, tuples,
//! schemas without a type) are [`NotStrict`].
//!
//! Anthropic's subset
//! (<https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations>)
//! keeps optional properties optional and supports the format `uri`, but no limits of numbers and no recursion.
//!
//! ```
//! use tool_runtime::{ToolDefinition, format::anthropic, serde_json::json};
//!
//! let wait = ToolDefinition::new("wait", "Wait.", json!({
//!     "type": "object",
//!     "properties": { "seconds": { "type": "integer", "maximum": 60, "description": "How long." } },
//!     "required": ["seconds"],
//! }));
//! let strict = anthropic::strict_tool(&wait).unwrap();
//! assert_eq!(strict.tool["strict"], true);
//! assert_eq!(strict.tool["input_schema"]["additionalProperties"], false);
//! // The API does not support `maximum`: the limit moves to the description, and the registry enforces the limit.
//! assert_eq!(strict.notes.len(), 1);
//!
//! let labels = json!({ "type": "object", "properties": { "labels": { "type": "object" } } });
//! let error = anthropic::strict_tool(&ToolDefinition::new("set_labels", "Label it.", labels)).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "`set_labels` has no strict form: at `/properties/labels` its keys are free; use a list of key and value",
//! );
//! ```

mod subset;
mod keywords;
mod limits;
mod unions;
mod values;
mod convert;

use std::fmt;

use serde_json::Value;

use crate::schema;
use crate::schema::compiled::pattern::Patterns;
use crate::wire::definition::ToolDefinition;

pub use convert::Note;
use convert::{Conversion, ConversionError};
pub(super) use subset::Subset;

/// Reason why a tool has no strict form.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotStrict {
    /// Name of the tool.
    pub tool: String,
    /// RFC 6901 JSON Pointer into the schema.
    pub path: String,
    /// Unsupported part of the schema.
    pub reason: String,
}

impl fmt::Display for NotStrict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` has no strict form: at `{}` {}",
            self.tool, self.path, self.reason
        )
    }
}

impl std::error::Error for NotStrict {}

/// A tool in a strict form, and its missing constraints.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StrictTool {
    /// Member of the request's `tools`.
    pub tool: Value,
    /// Constraints that the API does not enforce in this form; calls still enforce them.
    pub notes: Vec<Note>,
}

impl Subset {
    /// Converts a tool into a strict form; `wrap` creates it from the converted schema.
    ///
    /// # Errors
    ///
    /// Returns an error if the schema cannot be converted to the subset, or exceeds the API's limits.
    pub(in crate::format) fn strict_tool(
        self,
        definition: &ToolDefinition,
        wrap: impl FnOnce(Value) -> Value,
    ) -> Result<StrictTool, NotStrict> {
        let not_strict = |path, reason| NotStrict {
            tool: definition.name.clone(),
            path,
            reason,
        };
        let schema = schema::expand_nullable(&definition.input_schema);
        let (converted, notes) = Conversion::new(self, &schema)
            .run()
            .map_err(|ConversionError { path, reason }| not_strict(path, reason))?;
        // Registration rejects some schemas that have no strict form: below an `$id`, for example, `#/$defs/…` would
        // change its meaning.
        schema::check(&schema, &Patterns::default()).map_err(|error| not_strict(error.path, error.reason))?;
        Ok(StrictTool {
            tool: wrap(converted),
            notes,
        })
    }
}
