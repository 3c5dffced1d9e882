//! [`TurnContext`]: facts of the gateway about a request, for an upstream that translates. The context is an extension of the request.

use std::fmt;

/// Facts of the gateway about a request.
#[derive(Debug, Clone)]
pub(crate) struct TurnContext {
    /// Key of the signatures of thinking.
    pub(crate) thinking_key: ThinkingKey,
    /// Id of the session; `None` if the request belongs to no turn.
    pub(crate) session: Option<String>,
    /// Whether the arguments of tools with `eager_input_streaming` leave in pieces.
    pub(crate) eager_streaming: bool,
}

impl TurnContext {
    /// Creates the context of requests without a gateway, with a random key.
    pub(super) fn random() -> Self {
        Self {
            thinking_key: ThinkingKey(crate::random::bytes()),
            session: None,
            eager_streaming: true,
        }
    }
}

/// Key of the signatures of thinking.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThinkingKey(pub(crate) [u8; 32]);

impl fmt::Debug for ThinkingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ThinkingKey(..)")
    }
}
