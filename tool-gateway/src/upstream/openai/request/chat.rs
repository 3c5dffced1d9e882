//! [`ChatRequest`]: a request of Chat Completions, <https://platform.openai.com/docs/api-reference/chat/create>. Its fields are serialized in
//! a fixed order, so that an extended conversation extends the bytes, and servers find the prefix in their caches.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::upstream::openai::estimates::PromptSize;
use crate::upstream::openai::profile::Effort;

/// The body of a request. Values that the translation does not change keep their text.
#[derive(Debug, Default, Serialize)]
pub(super) struct ChatRequest<'r> {
    pub(super) model: Cow<'r, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<ChatTool<'r>>,
    pub(super) messages: Vec<ChatMessage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_choice: Option<ChatToolChoice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_tokens: Option<Cow<'r, RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_completion_tokens: Option<Cow<'r, RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stop: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top_p: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top_k: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_format: Option<ResponseFormat>,
    #[serde(flatten)]
    pub(super) reasoning: ChatReasoning,
    #[serde(flatten)]
    pub(super) extras: ChatExtras,
    pub(super) stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stream_options: Option<ChatStreamOptions>,
    #[serde(flatten)]
    pub(super) prefill: Option<ContinuedMessage>,
}

impl ChatRequest<'_> {
    /// Takes the tools and messages out of a serialized request, and returns their size. `length` is the length of the serialized request.
    pub(super) fn take_prompt_size(&mut self, length: usize) -> PromptSize {
        self.tools.clear();
        let images: Vec<usize> = self.messages.iter().flat_map(ChatMessage::images).collect();
        self.messages.clear();
        let rest = serde_json::to_string(self).map_or(0, |rest| rest.len());
        let bytes = length.saturating_sub(rest + images.iter().sum::<usize>());
        PromptSize {
            bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
            images: u64::try_from(images.len()).unwrap_or(u64::MAX),
        }
    }
}

/// Fields about thinking. Servers differ in these fields.
#[derive(Debug, Default, Serialize)]
pub(super) struct ChatReasoning {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_effort: Option<Effort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) chat_template_kwargs: Option<TemplateArguments>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking_budget_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning: Option<ReasoningObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking: Option<ThinkingSwitch>,
}

/// Arguments of chat templates, of which each reads one.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct TemplateArguments {
    pub(super) enable_thinking: bool,
    pub(super) thinking: bool,
}

/// `reasoning` of `OpenRouter`.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ReasoningObject {
    MaxTokens(u64),
    Effort(Effort),
    Enabled(bool),
}

/// `thinking` of `DeepSeek`.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct ThinkingSwitch {
    #[serde(rename = "type")]
    pub(super) kind: ThinkingType,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ThinkingType {
    Enabled,
    Disabled,
}

/// Fields about the account and the session.
#[derive(Debug, Default, Serialize)]
pub(super) struct ChatExtras {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) service_tier: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) safety_identifier: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompt_cache_key: Option<String>,
}

/// Options of a stream.
#[derive(Debug, Serialize)]
pub(super) struct ChatStreamOptions {
    pub(super) include_usage: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) continuous_usage_stats: bool,
}

/// Fields of vLLM and `SGLang` for a last message that the model continues.
#[derive(Debug, Serialize)]
pub(super) struct ContinuedMessage {
    pub(super) continue_final_message: bool,
    pub(super) add_generation_prompt: bool,
}

impl ContinuedMessage {
    pub(super) const fn new() -> Self {
        Self {
            continue_final_message: true,
            add_generation_prompt: false,
        }
    }
}

/// Format of the output.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ResponseFormat {
    JsonSchema { json_schema: OutputSchema },
    JsonObject,
}

/// Schema of the output.
#[derive(Debug, Serialize)]
pub(super) struct OutputSchema {
    pub(super) name: &'static str,
    pub(super) schema: Box<RawValue>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) strict: bool,
}

/// A message.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub(super) enum ChatMessage {
    System {
        content: ChatContent,
    },
    Developer {
        content: ChatContent,
    },
    User {
        content: ChatContent,
    },
    Assistant {
        #[serde(flatten)]
        reasoning: EchoedReasoning,
        content: Option<ChatContent>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ChatCall>,
    },
    Tool {
        tool_call_id: String,
        content: ChatContent,
    },
}

impl ChatMessage {
    /// Returns the length of the URL of each image.
    fn images(&self) -> impl Iterator<Item = usize> {
        let content = match self {
            Self::System { content }
            | Self::Developer { content }
            | Self::User { content }
            | Self::Tool { content, .. } => Some(content),
            Self::Assistant { content, .. } => content.as_ref(),
        };
        let parts = match content {
            Some(ChatContent::Parts(parts)) => parts.as_slice(),
            _ => &[],
        };
        parts.iter().filter_map(|part| match &part.content {
            PartContent::ImageUrl { image_url } => Some(image_url.url.len()),
            _ => None,
        })
    }
}

/// Thinking that goes back to the server of the thinking, in the fields of the response.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct EchoedReasoning {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) reasoning_details: Vec<Box<RawValue>>,
}

impl EchoedReasoning {
    /// Returns whether the message has no thinking.
    pub(super) fn is_empty(&self) -> bool {
        self.reasoning_content.is_none() && self.reasoning.is_none() && self.reasoning_details.is_empty()
    }

    /// Appends the thinking of a message that continues this one.
    pub(super) fn append(&mut self, later: Self) {
        let append = |text: &mut Option<String>, later: Option<String>| {
            if let Some(later) = later {
                text.get_or_insert_default().push_str(&later);
            }
        };
        append(&mut self.reasoning_content, later.reasoning_content);
        append(&mut self.reasoning, later.reasoning);
        self.reasoning_details.extend(later.reasoning_details);
    }
}

/// Content of a message: a string if there is only text.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(super) enum ChatContent {
    Text(String),
    Parts(Vec<ChatPart>),
}

impl ChatContent {
    /// Creates the content of these parts. Texts are joined by `separator` if there is only text.
    pub(super) fn from_parts(parts: Vec<ChatPart>, separator: &str) -> Self {
        let texts: Option<Vec<&str>> = parts.iter().map(ChatPart::plain_text).collect();
        match texts {
            Some(texts) => Self::Text(texts.join(separator)),
            None => Self::Parts(parts),
        }
    }

    /// Joins two contents of one message.
    pub(super) fn joined(first: Option<Self>, second: Option<Self>) -> Option<Self> {
        match (first, second) {
            (Some(Self::Text(first)), Some(Self::Text(second))) => {
                Some(Self::Text(format!("{first}\n\n{second}")))
            }
            (Some(first), Some(second)) => Some(Self::Parts(
                [first, second].into_iter().flat_map(Self::into_parts).collect(),
            )),
            (first, second) => first.or(second),
        }
    }

    fn into_parts(self) -> Vec<ChatPart> {
        match self {
            Self::Text(text) => vec![ChatPart::text(text)],
            Self::Parts(parts) => parts,
        }
    }

    /// Returns whether the content is white space alone.
    pub(super) fn is_blank(&self) -> bool {
        match self {
            Self::Text(text) => text.trim().is_empty(),
            Self::Parts(parts) => parts.iter().all(ChatPart::is_blank),
        }
    }
}

/// A part of a content.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ChatPart {
    #[serde(flatten)]
    pub(super) content: PartContent,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cache_control: Option<Box<RawValue>>,
}

/// Content of a part by its type.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum PartContent {
    Text { text: String },
    Thinking { thinking: ThinkingPart },
    ImageUrl { image_url: ImageUrl },
    File { file: ChatFile },
}

impl ChatPart {
    /// Creates a text.
    pub(super) fn text(text: impl Into<String>) -> Self {
        PartContent::Text { text: text.into() }.into()
    }

    /// Returns the text of a part that is only a text.
    fn plain_text(&self) -> Option<&str> {
        match &self.content {
            PartContent::Text { text } if self.cache_control.is_none() => Some(text),
            _ => None,
        }
    }

    pub(super) fn is_blank(&self) -> bool {
        matches!(&self.content, PartContent::Text { text } if text.trim().is_empty())
    }
}

impl From<PartContent> for ChatPart {
    fn from(content: PartContent) -> Self {
        Self {
            content,
            cache_control: None,
        }
    }
}

/// Thinking as a part of the content: a list of texts, or a text.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(super) enum ThinkingPart {
    Texts([ThinkingText; 1]),
    Text(String),
}

#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename = "text")]
pub(super) struct ThinkingText {
    pub(super) text: String,
}

/// URL of an image, which may be a data URL.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ImageUrl {
    pub(super) url: String,
}

/// A file as data URL.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ChatFile {
    pub(super) filename: String,
    pub(super) file_data: String,
}

/// A call of an assistant message.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename = "function")]
pub(super) struct ChatCall {
    pub(super) id: String,
    pub(super) function: CalledFunction,
    /// Data of the server, such as Gemini's signature of thoughts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) extra_content: Option<Box<RawValue>>,
}

/// The called function.
#[derive(Debug, Clone, Serialize)]
pub(super) struct CalledFunction {
    pub(super) name: String,
    /// Arguments as JSON text.
    pub(super) arguments: String,
}

/// A tool, which is a function.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "function")]
pub(super) struct ChatTool<'r> {
    pub(super) function: ChatFunction<'r>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cache_control: Option<&'r RawValue>,
}

/// Definition of a function.
#[derive(Debug, Serialize)]
pub(super) struct ChatFunction<'r> {
    pub(super) name: Cow<'r, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<Cow<'r, str>>,
    pub(super) parameters: Cow<'r, RawValue>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) strict: bool,
}

/// Choice of the tools that the model may or must call.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum ChatToolChoice {
    Mode(ToolMode),
    Named(NamedTool),
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
pub(super) struct NamedTool {
    pub(super) function: ToolName,
}

/// Name of a function.
#[derive(Debug, Serialize)]
pub(super) struct ToolName {
    pub(super) name: String,
}
