//! Messages and their content blocks. Unknown fields are preserved.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One message of a conversation, in the form of requests. Fields that only responses have are kept in
/// [`response`](Self::response) and are not serialized, so a message from a response can be sent back.
///
/// ```
/// use tool_runtime::message::Message;
/// use tool_runtime::serde_json::{from_str, to_string};
///
/// let text = r#"{"role":"user","content":[{"type":"text","text":"hello","new":1}],"note":true}"#;
/// let message: Message = from_str(text).unwrap();
/// assert_eq!(message.rest["note"], true);
/// assert_eq!(to_string(&message).unwrap(), text);
///
/// let response = r#"{"id":"msg_1","type":"message","role":"assistant","content":"hi","stop_reason":"end_turn"}"#;
/// let message: Message = from_str(response).unwrap();
/// assert_eq!(message.response["stop_reason"], "end_turn");
/// assert_eq!(to_string(&message).unwrap(), r#"{"role":"assistant","content":"hi"}"#);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "ReceivedMessage")]
#[non_exhaustive]
pub struct Message {
    /// `user`, `assistant` or another role of the API.
    pub role: String,
    /// Text or blocks.
    pub content: MessageContent,
    /// All other fields of a message of a request, in their order.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
    /// All other fields of a response, in their order: `id`, `model`, `stop_reason`, `usage` … The API refuses
    /// requests with these fields. An object is a response if its `type` is `message`, or if it has a `stop_reason`
    /// or a `usage`.
    #[serde(skip_serializing)]
    pub response: Map<String, Value>,
}

/// A message with the fields of requests and of responses.
#[derive(Deserialize)]
struct ReceivedMessage {
    role: String,
    content: MessageContent,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl From<ReceivedMessage> for Message {
    fn from(received: ReceivedMessage) -> Self {
        let ReceivedMessage { role, content, rest } = received;
        let is_response = rest.get("type").is_some_and(|kind| kind == "message")
            || rest.contains_key("stop_reason")
            || rest.contains_key("usage");
        let (rest, response) = if is_response {
            (Map::new(), rest)
        } else {
            (rest, Map::new())
        };
        Self {
            role,
            content,
            rest,
            response,
        }
    }
}

impl Message {
    /// Creates a message of the user with these blocks, the form of tool results.
    pub fn user(blocks: impl IntoIterator<Item = Block>) -> Self {
        Self::new("user", MessageContent::Blocks(blocks.into_iter().collect()))
    }

    /// Creates a message of the user with this text.
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

    /// Creates a message of the model with these blocks.
    pub fn assistant(blocks: impl IntoIterator<Item = Block>) -> Self {
        Self::new("assistant", MessageContent::Blocks(blocks.into_iter().collect()))
    }

    /// Creates a message of the model with this text.
    pub fn assistant_text(text: impl Into<String>) -> Self {
        Self::new("assistant", MessageContent::Text(text.into()))
    }

    /// Creates a message of this role with these blocks.
    #[cfg(feature = "formats")]
    pub(crate) fn from_blocks(role: String, blocks: Vec<Block>) -> Self {
        Self::new(role, MessageContent::Blocks(blocks))
    }

    fn new(role: impl Into<String>, content: MessageContent) -> Self {
        Self {
            role: role.into(),
            content,
            rest: Map::new(),
            response: Map::new(),
        }
    }

    /// Returns whether the message has no content: no blocks, or only texts of white space. A model that answers
    /// nothing returns such a message. The API refuses it in later requests, so leave it out.
    ///
    /// ```
    /// use tool_runtime::message::{Block, Message};
    ///
    /// assert!(Message::assistant([]).is_empty());
    /// assert!(Message::assistant([Block::text("\n")]).is_empty());
    /// assert!(!Message::assistant_text("Noon.").is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        let is_blank = |text: &str| text.trim().is_empty();
        match &self.content {
            MessageContent::Text(text) => is_blank(text),
            MessageContent::Blocks(blocks) => blocks
                .iter()
                .all(|block| block.kind() == "text" && block.str("text").is_none_or(is_blank)),
        }
    }

    /// Returns the message with another content.
    #[must_use]
    pub fn with_content(&self, content: MessageContent) -> Self {
        Self {
            role: self.role.clone(),
            content,
            rest: self.rest.clone(),
            response: self.response.clone(),
        }
    }
}

/// Lets a message be an argument. The schema allows other fields, since they are kept.
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
    /// A single text.
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

/// One content block: a JSON object with a `type`. Blocks keep all fields in order.
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
    /// Creates a `text` block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new("text", [("text", Value::String(text.into()))])
    }

    /// Creates an `image` block; `data` is base64, `media_type` for example `image/png`.
    pub fn image(media_type: impl Into<String>, data: impl Into<String>) -> Self {
        let source = Self::new(
            "base64",
            [
                ("media_type", Value::String(media_type.into())),
                ("data", Value::String(data.into())),
            ],
        );
        Self::new("image", [("source", Value::Object(source.0))])
    }

    /// Returns the block's `type`; empty for a missing type.
    pub fn kind(&self) -> &str {
        self.str("type").unwrap_or_default()
    }

    /// Returns the value of a string field.
    pub fn str(&self, field: &str) -> Option<&str> {
        self.0.get(field).and_then(Value::as_str)
    }

    /// Returns whether this is a text block of white space only.
    pub(crate) fn is_blank_text(&self) -> bool {
        self.kind() == "text" && self.str("text").is_some_and(|text| text.trim().is_empty())
    }

    fn new<const N: usize>(kind: &str, fields: [(&str, Value); N]) -> Self {
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
