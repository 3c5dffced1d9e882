//! Fields that a foreign form must have, or may have.

use serde_json::Value;

use crate::wire::message::Block;

/// Why something cannot be put into the words of another API.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// A call, or a tool, without a field that it must have.
    #[error("{what} needs `{field}`, {wanted}")]
    Missing {
        /// What was read.
        what: &'static str,
        /// The field.
        field: &'static str,
        /// What it should be.
        wanted: &'static str,
    },
    /// A content block that the other API has no form for.
    #[error("{api} takes no `{kind}` block in a tool's result; send text")]
    Block {
        /// The API.
        api: &'static str,
        /// The block's type.
        kind: String,
    },
}

/// A field that is text, or what is wrong.
pub(super) fn text<'a>(
    object: &'a Value,
    what: &'static str,
    field: &'static str,
) -> Result<&'a str, FormatError> {
    object
        .get(field)
        .and_then(Value::as_str)
        .ok_or(FormatError::Missing {
            what,
            field,
            wanted: "a string",
        })
}

/// The base64 text of an image block and its media type.
pub(super) fn image(block: &Block) -> Option<(&str, &str)> {
    let source = block.0.get("source")?;
    let field = |name| source.get(name).and_then(Value::as_str);
    (field("type") == Some("base64")).then_some(())?;
    Some((field("media_type")?, field("data")?))
}

/// The address of an image block that has one.
pub(super) fn image_url(block: &Block) -> Option<&str> {
    block.0.get("source")?.get("url")?.as_str()
}
