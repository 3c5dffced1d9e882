//! [`stop_reason`]: the stop reason of a message by its finish reason.

/// The end of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ending<'e> {
    /// The finish reason; `None` if the stream had none.
    pub(super) finish_reason: Option<&'e str>,
    /// Whether the message has a call.
    pub(super) has_call: bool,
    /// Whether the message has a refusal.
    pub(super) has_refusal: bool,
}

/// Returns the stop reason. Servers have `stop` with calls and `tool_calls` without, so the calls decide.
pub(super) fn stop_reason(ending: &Ending<'_>) -> &'static str {
    match ending.finish_reason {
        Some("length" | "max_tokens") => "max_tokens",
        Some("content_filter") => "refusal",
        _ if ending.has_call => "tool_use",
        _ if ending.has_refusal => "refusal",
        _ => "end_turn",
    }
}
