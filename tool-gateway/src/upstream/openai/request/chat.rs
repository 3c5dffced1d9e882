//! [`ChatRequest`]: a request of Chat Completions, <https://platform.openai.com/docs/api-reference/chat/create>. Its fields are serialized in
//! a fixed order, so that an extended conversation extends the bytes, and servers find the prefix in their caches.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

/// The body of a request. Values that the translation does not change keep their text.
#[derive(Debug, Serialize)]
pub(super) struct ChatRequest<'r> {
    pub(super) model: Cow<'r, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<ChatTool<'r>>,
    pub(super) messages: Vec<ChatMessage<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_choice: Option<ChatToolChoice<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_tokens: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_completion_tokens: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stop: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top_p: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top_k: Option<&'r RawValue>,
    pub(super) stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stream_options: Option<ChatStreamOptions>,
}

/// Options of a stream.
#[derive(Debug, Serialize)]
pub(super) struct ChatStreamOptions {
    pub(super) include_usage: bool,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub(super) enum ChatMessage<'r> {
    System {
        content: String,
    },
    User {
        content: ChatContent,
    },
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ChatCall<'r>>,
    },
    Tool {
        tool_call_id: Cow<'r, str>,
        content: String,
    },
}

/// Content of a user message: a string if there is only text.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum ChatContent {
    Text(String),
    Parts(Vec<ChatPart>),
}

/// A part of a content.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ChatPart {
    Text { text: String },
    ImageUrl { image_url: ImageUrl },
}

/// URL of an image, which may be a data URL.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct ImageUrl {
    pub(super) url: String,
}

/// A call of an assistant message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename = "function")]
pub(super) struct ChatCall<'r> {
    pub(super) id: Cow<'r, str>,
    pub(super) function: CalledFunction<'r>,
}

/// The called function.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct CalledFunction<'r> {
    pub(super) name: Cow<'r, str>,
    /// Arguments as JSON text.
    pub(super) arguments: Cow<'r, str>,
}

/// A tool, which is a function.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "function")]
pub(super) struct ChatTool<'r> {
    pub(super) function: ChatFunction<'r>,
}

/// Definition of a function.
#[derive(Debug, Serialize)]
pub(super) struct ChatFunction<'r> {
    pub(super) name: Cow<'r, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<Cow<'r, str>>,
    pub(super) parameters: Cow<'r, RawValue>,
}

/// Choice of the tools that the model may or must call.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum ChatToolChoice<'r> {
    Mode(ToolMode),
    Named(NamedTool<'r>),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ToolMode {
    None,
    Required,
}

/// The tool that the model must call.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "function")]
pub(super) struct NamedTool<'r> {
    pub(super) function: ToolName<'r>,
}

/// Name of a function.
#[derive(Debug, Serialize)]
pub(super) struct ToolName<'r> {
    pub(super) name: Cow<'r, str>,
}
