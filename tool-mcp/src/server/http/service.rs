//! [`McpService`]: a server over HTTP as a tower service.

use std::convert::Infallible;
use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use crate::server::http::body::McpBody;
use crate::server::http::rules::HttpRules;
use crate::server::mcp_server::McpServer;

/// Server over HTTP for a path of a program's own router, such as `/mcp`. [`McpServer::http`] creates the service.
///
/// No request belongs to a session of the protocol, so requests of a client may reach different instances of a program. Requests for hosts
/// other than loopback addresses, and of web pages of other origins, are refused with 403 unless they are allowed here. The
/// service does not authenticate clients: a layer does that, and adds [`McpPrincipal`](crate::McpPrincipal).
///
/// ```
/// use tool_mcp::{McpServer, McpService};
/// use tool_runtime::ToolRegistry;
///
/// let server = McpServer::new(ToolRegistry::new());
/// let service: McpService = server.http().with_allowed_hosts(["mcp.example.com"]);
/// // With axum: `Router::new().route_service("/mcp", service)`.
/// ```
#[derive(Debug, Clone)]
pub struct McpService {
    server: McpServer,
    rules: Arc<HttpRules>,
}

impl McpServer {
    /// Creates the service for requests over HTTP. Clones share the tools.
    pub fn http(&self) -> McpService {
        McpService {
            server: self.clone(),
            rules: Arc::default(),
        }
    }

    /// Ends the subscriptions, and refuses later requests over HTTP with 503. Running calls end normally. Call this before a
    /// graceful shutdown, which would wait for the subscriptions.
    pub fn close(&self) {
        self.shared.closing.cancel();
    }
}

impl McpService {
    /// Accepts requests for these hosts, too: names, or names with ports.
    #[must_use]
    pub fn with_allowed_hosts(mut self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let hosts = hosts.into_iter().map(Into::into).collect();
        Arc::make_mut(&mut self.rules).hosts = Some(hosts);
        self
    }

    /// Accepts requests for any host, for a server with keys or behind a proxy that checks the host.
    #[must_use]
    pub fn with_any_host(mut self) -> Self {
        Arc::make_mut(&mut self.rules).hosts = None;
        self
    }

    /// Accepts requests of web pages of these origins, too, such as `https://app.example.com`.
    #[must_use]
    pub fn with_allowed_origins(mut self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let origins = origins.into_iter().map(Into::into).collect();
        Arc::make_mut(&mut self.rules).origins = Some(origins);
        self
    }

    /// Accepts requests of web pages of any origin, for a program that checks `Origin` before this service.
    #[must_use]
    pub fn with_any_origin(mut self) -> Self {
        Arc::make_mut(&mut self.rules).origins = None;
        self
    }

    /// Sets the maximum number of bytes of a request. The default is 16 MiB. The bodies of all requests, up to the ends of their calls, have at
    /// most 64 MiB, or four times this number; a further request is refused with 503.
    #[must_use]
    pub fn with_max_body_bytes(mut self, bytes: usize) -> Self {
        Arc::make_mut(&mut self.rules).body_bytes = bytes;
        self
    }
}

impl<B> Service<Request<B>> for McpService
where
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    type Response = Response<McpBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<McpBody>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Self { server, rules } = self.clone();
        Box::pin(async move { Ok(server.respond(request, &rules).await) })
    }
}
