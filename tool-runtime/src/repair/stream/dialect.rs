//! The streams that are understood.

use std::fmt;

/// The form of a stream of tool calls.
///
/// ```
/// use tool_runtime::repair::stream::Dialect;
///
/// assert_eq!(Dialect::ChatCompletions.to_string(), "chat");
/// assert_eq!(Dialect::Responses.to_string(), "responses");
/// assert_eq!(Dialect::Anthropic.to_string(), "anthropic");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// `OpenAI`'s Chat Completions, and all that speak like them.
    ChatCompletions,
    /// `OpenAI`'s Responses.
    Responses,
    /// Anthropic's Messages.
    Anthropic,
}

impl Dialect {
    /// Its name, as on the command line of `tool-gateway`: `chat`, `responses`, `anthropic`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ChatCompletions => "chat",
            Self::Responses => "responses",
            Self::Anthropic => "anthropic",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Whether a model that stopped for this reason was stopped in the middle: `finish_reason`, `stop_reason`.
pub(super) fn is_cut_off(reason: &str) -> bool {
    matches!(
        reason,
        "length"
            | "max_tokens"
            | "max_output_tokens"
            | "MAX_TOKENS"
            | "model_context_window_exceeded"
            | "content_filter"
            | "refusal"
            | "error"
            | "insufficient_system_resource"
    )
}
