//! Functions of the host that the client calls: [`Hooks`].

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};
use tool_runtime::Context;

/// Kind of a message of a server that is no answer to a running request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MessageKind {
    /// Text on standard output that is no message.
    Ignored,
    /// Answer with an id that no request had.
    UnknownId,
    /// Answer to a request that had an answer before, was cancelled or timed out.
    Late,
    /// Message that is not valid JSON, is no message of the protocol, or is above the limit.
    Invalid,
    /// Notification of a changed list of tools.
    ListChanged,
}

impl MessageKind {
    /// Returns the kind as a label of a metric.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ignored => "ignored",
            Self::UnknownId => "unknown_id",
            Self::Late => "late",
            Self::Invalid => "invalid",
            Self::ListChanged => "list_changed",
        }
    }
}

/// Function that observes messages.
pub(crate) type OnMessage = Arc<dyn Fn(MessageKind) + Send + Sync>;
/// Function that returns members of `_meta` of a call.
pub(crate) type CallMeta = Arc<dyn Fn(&Context) -> Map<String, Value> + Send + Sync>;

/// Functions of the host. All of them are optional.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    pub(crate) on_message: Option<OnMessage>,
    pub(crate) call_meta: Option<CallMeta>,
}

impl Hooks {
    pub(crate) fn observe(&self, kind: MessageKind) {
        if let Some(on_message) = &self.on_message {
            on_message(kind);
        }
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks")
            .field("on_message", &self.on_message.is_some())
            .field("call_meta", &self.call_meta.is_some())
            .finish()
    }
}
