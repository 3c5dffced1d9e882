//! Required and optional fields of foreign formats.

use std::fmt;

use serde_json::Value;

use crate::wire::message::Block;

/// Reason why a conversion failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormatError {
    /// A call or a tool lacks a required field.
    Missing {
        /// Kind of object.
        subject: &'static str,
        /// Name of the field.
        field: &'static str,
        /// Expected type.
        wanted: &'static str,
    },
    /// A content block has no equivalent in the other API.
    Block {
        /// Name of the API.
        api: &'static str,
        /// Type of the block.
        kind: String,
    },
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing {
                subject,
                field,
                wanted,
            } => write!(f, "{subject} needs `{field}`, {wanted}"),
            Self::Block { api, kind } => {
                write!(f, "{api} takes no `{kind}` block in a tool's result; send text")
            }
        }
    }
}

impl std::error::Error for FormatError {}

/// Returns a required string field.
pub(super) fn text<'a>(
    object: &'a Value,
    subject: &'static str,
    field: &'static str,
) -> Result<&'a str, FormatError> {
    object
        .get(field)
        .and_then(Value::as_str)
        .ok_or(FormatError::Missing {
            subject,
            field,
            wanted: "a string",
        })
}

/// Returns the base64 text of an image block and its media type.
pub(super) fn image(block: &Block) -> Option<(&str, &str)> {
    let source = block.0.get("source")?;
    let field = |name| source.get(name).and_then(Value::as_str);
    (field("type") == Some("base64")).then_some(())?;
    Some((field("media_type")?, field("data")?))
}

/// Returns the URL of an image block, if it has one.
pub(super) fn image_url(block: &Block) -> Option<&str> {
    block.0.get("source")?.get("url")?.as_str()
}
