//! Messages and their content blocks. Unknown fields are preserved.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One message of a conversation. Other fields are kept in [`rest`](Self::rest).
///
/// ```
/// use tool_runtime::message::Message;
///
/// let text = r#"{"role":"user","content":[{"type":"text","text":"hello","new":1}],"id":"msg_1"}"#;
/// let message: Message = serde_json::from_str(text).unwrap();
/// assert_eq!(message.rest["id"], "msg_1");
/// assert_eq!(serde_json::to_string(&message).unwrap(), text);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Message {
    /// `user`, `assistant` or whatever the API allows.
    pub role: String,
    /// Text or blocks.
    pub content: MessageContent,
    /// All other fields, in their order.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl Message {
    /// A message of the user with these blocks, the form of tool results.
    pub fn user(blocks: impl IntoIterator<Item = Block>) -> Self {
        Self::new("user", MessageContent::Blocks(blocks.into_iter().collect()))
    }

    /// A message of the user with this text.
    ///
    /// ```
    /// use tool_runtime::message::{Block, Message};
    /// use tool_runtime::serde_json::{json, to_value};
    ///
    /// let turn = [
    ///     Message::user_text("What time is it?"),
    ///     Message::assistant_text("Noon."),
    ///     Message::assistant([Block::text("Shall I ring the bell?")]),
    /// ];
    /// assert_eq!(
    ///     to_value(&turn).unwrap(),
    ///     json!([
    ///         { "role": "user", "content": "What time is it?" },
    ///         { "role": "assistant", "content": "Noon." },
    ///         { "role": "assistant", "content": [{ "type": "text", "text": "Shall I ring the bell?" }] },
    ///     ]),
    /// );
    /// ```
    pub fn user_text(text: impl Into<String>) -> Self {
        Self::new("user", MessageContent::Text(text.into()))
    }

    /// A message of the model with these blocks.
    pub fn assistant(blocks: impl IntoIterator<Item = Block>) -> Self {
        Self::new("assistant", MessageContent::Blocks(blocks.into_iter().collect()))
    }

    /// A message of the model with this text.
    pub fn assistant_text(text: impl Into<String>) -> Self {
        Self::new("assistant", MessageContent::Text(text.into()))
    }

    fn new(role: &str, content: MessageContent) -> Self {
        Self {
            role: role.to_owned(),
            content,
            rest: Map::new(),
        }
    }

    /// The same message with another content.
    #[must_use]
    pub fn with_content(&self, content: MessageContent) -> Self {
        Self {
            role: self.role.clone(),
            content,
            rest: self.rest.clone(),
        }
    }
}

/// A message can be an argument. Its schema allows other fields, since they are kept.
impl JsonSchema for Message {
    fn schema_name() -> Cow<'static, str> {
        "Message".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "One message of a conversation.",
            "properties": {
                "role": { "type": "string", "description": "Who speaks, for example `user`." },
                "content": generator.subschema_for::<MessageContent>(),
            },
            "required": ["role", "content"],
            "additionalProperties": true,
        })
    }
}

/// The content of a message: a string is equivalent to one text block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum MessageContent {
    /// One text.
    Text(String),
    /// Content blocks.
    Blocks(Vec<Block>),
}

impl JsonSchema for MessageContent {
    fn schema_name() -> Cow<'static, str> {
        "MessageContent".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Text, or content blocks.",
            "anyOf": [
                { "type": "string" },
                { "type": "array", "items": generator.subschema_for::<Block>() },
            ],
        })
    }
}

/// One content block: a JSON object with a `type`. All fields are kept, in their order.
///
/// ```
/// use tool_runtime::message::Block;
///
/// let block = Block::text("hello");
/// assert_eq!(block.kind(), "text");
/// assert_eq!(serde_json::to_string(&block).unwrap(), r#"{"type":"text","text":"hello"}"#);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Block(pub Map<String, Value>);

impl Block {
    /// A `text` block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::of("text", [("text", Value::String(text.into()))])
    }

    /// An `image` block; `data` is base64, `media_type` for example `image/png`.
    pub fn image(media_type: impl Into<String>, data: impl Into<String>) -> Self {
        let source = Self::of(
            "base64",
            [
                ("media_type", Value::String(media_type.into())),
                ("data", Value::String(data.into())),
            ],
        );
        Self::of("image", [("source", Value::Object(source.0))])
    }

    /// The block's `type`; empty if it has none.
    pub fn kind(&self) -> &str {
        self.str("type").unwrap_or_default()
    }

    /// A field that is a string.
    pub fn str(&self, field: &str) -> Option<&str> {
        self.0.get(field).and_then(Value::as_str)
    }

    fn of<const N: usize>(kind: &str, fields: [(&str, Value); N]) -> Self {
        let head = [("type", Value::String(kind.to_owned()))];
        Self(
            head.into_iter()
                .chain(fields)
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    }
}

impl JsonSchema for Block {
    fn schema_name() -> Cow<'static, str> {
        "Block".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "One content block; which fields it has beside its `type` depends on the type.",
            "properties": {
                "type": { "type": "string", "description": "For example `text` or `tool_result`." },
            },
            "required": ["type"],
            "additionalProperties": true,
        })
    }
}
