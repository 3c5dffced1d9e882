//! [`Ending`]: the stop reason of a message by its finish reason.

use serde_json::{Value, json};

/// The end of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ending<'e> {
    /// The finish reason; `None` if the stream had none.
    pub(super) finish_reason: Option<&'e str>,
    /// Whether the message has a call.
    pub(super) has_call: bool,
    /// The text of a refusal; empty without one.
    pub(super) refusal: &'e str,
    /// The request's stop sequence that ended the text.
    pub(super) stop_sequence: Option<&'e str>,
}

/// Kind of a finish reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FinishKind {
    /// The message is complete.
    Complete,
    /// The message was cut off.
    CutOff,
    /// A filter ended the message.
    Filtered,
    /// The server failed.
    Failed,
    /// A word that the gateway does not know.
    Unknown,
}

/// Words of servers, some of which translate from other APIs and keep their words in another case.
const KINDS: [(&str, FinishKind); 30] = [
    ("stop", FinishKind::Complete),
    ("eos", FinishKind::Complete),
    ("tool_calls", FinishKind::Complete),
    ("function_call", FinishKind::Complete),
    ("tool_use", FinishKind::Complete),
    ("end_turn", FinishKind::Complete),
    ("stop_sequence", FinishKind::Complete),
    ("eos_token", FinishKind::Complete),
    ("length", FinishKind::CutOff),
    ("max_tokens", FinishKind::CutOff),
    ("max_output_tokens", FinishKind::CutOff),
    ("model_length", FinishKind::CutOff),
    ("model_context_window_exceeded", FinishKind::CutOff),
    ("insufficient_system_resource", FinishKind::CutOff),
    ("content_filter", FinishKind::Filtered),
    ("refusal", FinishKind::Filtered),
    ("safety", FinishKind::Filtered),
    ("recitation", FinishKind::Filtered),
    ("blocklist", FinishKind::Filtered),
    ("prohibited_content", FinishKind::Filtered),
    ("spii", FinishKind::Filtered),
    ("sensitive", FinishKind::Filtered),
    ("error", FinishKind::Failed),
    ("abort", FinishKind::Failed),
    ("aborted", FinishKind::Failed),
    ("cancelled", FinishKind::Failed),
    ("canceled", FinishKind::Failed),
    ("timeout", FinishKind::Failed),
    ("network_error", FinishKind::Failed),
    ("malformed_function_call", FinishKind::Failed),
];

impl FinishKind {
    /// Returns the kind of a finish reason.
    pub(super) fn new(reason: &str) -> Self {
        let known = KINDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(reason));
        known.map_or(Self::Unknown, |(_, kind)| *kind)
    }

    /// Returns whether a last call may be incomplete.
    pub(super) fn cuts_calls(self) -> bool {
        matches!(self, Self::CutOff | Self::Filtered)
    }
}

impl Ending<'_> {
    /// Returns `delta` of the event `message_delta`. Servers have `stop` with calls and `tool_calls` without, so the calls decide.
    pub(super) fn delta(&self) -> Value {
        let kind = self.finish_reason.map(FinishKind::new);
        let stop_reason = match kind {
            Some(FinishKind::CutOff) => "max_tokens",
            Some(FinishKind::Filtered) => "refusal",
            _ if self.has_call => "tool_use",
            _ if !self.refusal.is_empty() => "refusal",
            _ if self.stop_sequence.is_some() => "stop_sequence",
            _ => "end_turn",
        };
        let stop_sequence = self.stop_sequence.filter(|_| stop_reason == "stop_sequence");
        let mut delta = json!({ "stop_reason": stop_reason, "stop_sequence": stop_sequence });
        if stop_reason == "refusal"
            && let Some(fields) = delta.as_object_mut()
        {
            let explanation = Some(self.refusal).filter(|refusal| !refusal.is_empty());
            let details = json!({ "type": "refusal", "category": null, "explanation": explanation });
            fields.insert("stop_details".to_owned(), details);
        }
        delta
    }
}
