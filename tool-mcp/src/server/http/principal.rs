//! [`McpPrincipal`]: the client of a request.

use std::sync::Arc;

/// Name of the client that sent a request: an extension of the request, which a layer adds that authenticates clients. Session state and
/// limits are those of the client, and lists are not for shared caches. Requests without this extension belong to one client.
///
/// ```
/// use tool_mcp::McpPrincipal;
///
/// # let mut request = http::Request::new(());
/// request.extensions_mut().insert(McpPrincipal::new("ada"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct McpPrincipal(pub(crate) Arc<str>);

impl McpPrincipal {
    /// Creates the name of a client.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }
}
