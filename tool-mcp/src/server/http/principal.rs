//! [`McpPrincipal`]: the client of a request.

use std::sync::Arc;

use tool_runtime::Context;

/// Client that sent a request: an extension of the request, which a layer adds that authenticates clients. Session state and limits
/// belong to the client, and lists are not for shared caches. Requests without this extension belong to one client.
///
/// ```
/// use tool_mcp::McpPrincipal;
/// use tool_runtime::Context;
///
/// # let mut request = http::Request::new(());
/// let ada = McpPrincipal::new("ada").with_context(Context::new().with_extension(7_u16));
/// request.extensions_mut().insert(ada);
/// ```
#[derive(Debug, Clone)]
pub struct McpPrincipal {
    pub(crate) name: Arc<str>,
    pub(crate) context: Context,
}

impl McpPrincipal {
    /// Creates a client. An empty name is the client of requests without this extension.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            context: Context::new(),
        }
    }

    /// Sets the context of the client's calls, to which the server adds the session, the cancellation and the progress.
    #[must_use]
    pub fn with_context(mut self, context: Context) -> Self {
        self.context = context;
        self
    }
}
