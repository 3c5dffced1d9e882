//! The streams that are understood.

/// The form of a stream of tool calls.
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
