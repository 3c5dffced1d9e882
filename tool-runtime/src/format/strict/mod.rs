//! Schemas in the subsets that strict function calling takes, OpenAI's and Anthropic's.
//!
//! OpenAI's (<https://platform.openai.com/docs/guides/structured-outputs#supported-schemas>) in short: the root is an object and no union; every object names all its properties in `required` and has
//! `additionalProperties: false` (an optional property becomes one that may be `null`, which is read as absent);
//! unions are `anyOf`; of the constraints `enum`, `const`, `pattern`, some `format`s, the limits of numbers and
//! `minItems`/`maxItems` remain. What else a schema says is put into words, or noted; it is still enforced when
//! the call comes. What cannot be said at all (maps with free keys, tuples, "anything") is [`NotStrict`].
//!
//! Anthropic's (<https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations>)
//! leaves optional properties optional and knows the format `uri`; it has no limits of numbers and no recursion.
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
//! // The API has no limits of numbers: the model reads it, and the registry enforces it.
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

use serde_json::Value;

use crate::schema;
use crate::wire::definition::ToolDefinition;

pub use convert::Note;
use convert::{Conversion, ConversionError};
pub(super) use subset::Subset;

/// Why a tool has no strict form; its plain form is always there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{tool}` has no strict form: at `{path}` {reason}")]
#[non_exhaustive]
pub struct NotStrict {
    /// The tool.
    pub tool: String,
    /// Where in its schema: an RFC 6901 JSON Pointer.
    pub path: String,
    /// What cannot be said.
    pub reason: String,
}

/// A tool in a strict form, and what that form could not say.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StrictTool {
    /// The member of `tools`.
    pub tool: Value,
    /// Rules that the API does not enforce in this form; they are enforced here when the call comes.
    pub notes: Vec<Note>,
}

/// Puts a tool into a strict form; `wrap` makes the tool of the converted schema.
///
/// # Errors
///
/// When the schema cannot be expressed in the subset, or is larger than the API takes.
pub(super) fn strict(
    subset: Subset,
    definition: &ToolDefinition,
    wrap: impl FnOnce(Value) -> Value,
) -> Result<StrictTool, NotStrict> {
    let not_strict = |path, reason| NotStrict {
        tool: definition.name.clone(),
        path,
        reason,
    };
    let schema = schema::expand_nullable(&definition.input_schema);
    let (converted, notes) = Conversion::new(subset, &schema)
        .run()
        .map_err(|ConversionError { path, reason }| not_strict(path, reason))?;
    // What registration refuses has no strict form either: below an `$id`, for one, `#/$defs/…` would change its meaning.
    schema::check(&schema).map_err(|error| not_strict(error.path, error.reason))?;
    Ok(StrictTool {
        tool: wrap(converted),
        notes,
    })
}
