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

/// Whether a model that stopped for this reason was stopped in the middle: `finish_reason`, `stop_reason`. Servers that
/// speak for another API leave its words in their own case.
pub(super) fn is_cut_off(reason: &str) -> bool {
    CUT_OFF.iter().any(|word| word.eq_ignore_ascii_case(reason))
}

const CUT_OFF: [&str; 19] = [
    "length",
    "max_tokens",
    "max_output_tokens",
    "model_context_window_exceeded",
    "content_filter",
    "refusal",
    "error",
    "insufficient_system_resource",
    "abort",
    "aborted",
    "cancelled",
    "canceled",
    "timeout",
    "safety",
    "recitation",
    "blocklist",
    "prohibited_content",
    "spii",
    "malformed_function_call",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_for_an_output_that_was_cut_off_is_known_in_any_case() {
        for word in [
            "length",
            "max_tokens",
            "max_output_tokens",
            "model_context_window_exceeded",
            "content_filter",
            "refusal",
            "error",
            "insufficient_system_resource",
            "abort",
            "aborted",
            "cancelled",
            "canceled",
            "timeout",
            "safety",
            "recitation",
            "blocklist",
            "prohibited_content",
            "spii",
            "malformed_function_call",
        ] {
            assert!(is_cut_off(word) && is_cut_off(&word.to_uppercase()), "{word}");
        }
        assert!(is_cut_off("Max_Tokens"));
    }

    #[test]
    fn a_model_that_came_to_its_end_was_not_cut_off() {
        for word in [
            "stop",
            "tool_calls",
            "function_call",
            "end_turn",
            "tool_use",
            "stop_sequence",
            "eos",
            "STOP",
            "pause_turn",
            "lengthy",
            "",
        ] {
            assert!(!is_cut_off(word), "{word}");
        }
    }
}
