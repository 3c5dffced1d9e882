//! Routes, and the handlers that need no session.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::handler::Handler;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use axum::{Extension, Json, Router};
use serde_json::json;

#[cfg(feature = "mcp")]
use super::mcp_endpoint::McpEndpoint;
use super::{account, messages, path_ids};
use crate::server::admit::admission::{Access, Admission, admit, check_open, stopping};
use crate::server::admit::request_body::{ReadRequest, read_text};
use crate::server::drive::forward;
use crate::server::observe::metrics::RouteMetrics;
use crate::server::openai::repairing;
use crate::server::turns::shared::Shared;
use crate::session::principal::Principal;
use crate::wire::error::ApiError;

/// Creates the router of all routes.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    use Access::{Anyone, Client, ClientWithinLimits};
    const GET: MethodFilter = MethodFilter::GET;
    const POST: MethodFilter = MethodFilter::POST;
    const ANY: MethodFilter = GET.or(POST).or(MethodFilter::DELETE);
    let routes = Routes::new(shared);
    #[cfg(feature = "mcp")]
    let routes = routes.add_mcp();
    routes
        .add(POST, "/v1/messages", ClientWithinLimits, messages::messages)
        .add(
            POST,
            "/v1/messages/count_tokens",
            ClientWithinLimits,
            messages::count_tokens,
        )
        .add(
            POST,
            "/v1/chat/completions",
            ClientWithinLimits,
            repairing::chat_completions,
        )
        .add(POST, "/v1/responses", ClientWithinLimits, repairing::responses)
        .add(GET, "/v1/models", ClientWithinLimits, models)
        .add(GET, "/v1/models/{*id}", ClientWithinLimits, model)
        .add(ANY, account::BATCHES, ClientWithinLimits, account::pass)
        .add(
            ANY,
            "/v1/messages/batches/{*path}",
            ClientWithinLimits,
            account::pass,
        )
        .add(ANY, account::FILES, ClientWithinLimits, account::pass)
        .add(ANY, "/v1/files/{*path}", ClientWithinLimits, account::pass)
        .add(GET, "/v1/tools", Client, tools)
        .add(GET, "/healthz", Anyone, health)
        .add(GET, "/readyz", Anyone, ready)
        .add(GET, "/metrics", Client, metrics)
        .add(GET, "/", Anyone, root)
        .finish()
}

/// Creates the router of the metrics listener. Its routes require no client key.
pub(crate) fn metrics_router(shared: Arc<Shared>) -> Router {
    let any_host = shared.settings.metrics.any_host;
    let routes = Routes {
        any_host,
        ..Routes::new(shared)
    };
    routes
        .add(MethodFilter::GET, "/metrics", Access::Anyone, metrics)
        .add(MethodFilter::GET, "/healthz", Access::Anyone, health)
        .add(MethodFilter::GET, "/readyz", Access::Anyone, ready)
        .finish()
}

/// Builder of the router; adds the admission to each route.
struct Routes {
    router: Router<Arc<Shared>>,
    shared: Arc<Shared>,
    any_host: bool,
}

impl Routes {
    fn new(shared: Arc<Shared>) -> Self {
        Self {
            router: Router::new(),
            any_host: shared.settings.any_host,
            shared,
        }
    }

    fn admission(&self, path: &'static str, access: Access) -> Arc<Admission> {
        Arc::new(Admission {
            shared: Arc::clone(&self.shared),
            path,
            access,
            any_host: self.any_host,
            metrics: RouteMetrics::default(),
        })
    }

    fn add<H: Handler<T, Arc<Shared>>, T: 'static>(
        mut self,
        method: MethodFilter,
        path: &'static str,
        access: Access,
        handler: H,
    ) -> Self {
        let handler = handler.layer(from_fn_with_state(self.admission(path, access), admit));
        // A wrong method is rejected without a check of the key.
        let other = not_allowed.layer(from_fn_with_state(self.admission(path, Access::Anyone), admit));
        self.router = self.router.route(path, on(method, handler).fallback(other));
        self
    }

    /// Adds `/mcp`, if the settings serve the gateway's tools there.
    #[cfg(feature = "mcp")]
    fn add_mcp(self) -> Self {
        if !self.shared.settings.mcp.serve {
            return self;
        }
        let endpoint = McpEndpoint::start(&self.shared);
        let handler = move |State(shared): State<Arc<Shared>>, request: Request| {
            let endpoint = Arc::clone(&endpoint);
            async move { endpoint.answer(&shared, request).await }
        };
        self.add(MethodFilter::POST, "/mcp", Access::ClientWithinLimits, handler)
    }

    /// Builds the router. Metrics count requests to unknown paths under the route `unknown`.
    fn finish(self) -> Router {
        let unknown = self.admission("unknown", Access::Anyone);
        self.router
            .fallback(not_found.layer(from_fn_with_state(unknown, admit)))
            .with_state(self.shared)
    }
}

/// Handles `GET /v1/models`: returns the upstream's response unchanged.
async fn models(State(shared): State<Arc<Shared>>, request: Request) -> Result<Response, ApiError> {
    let request = read_text(&shared, request).await?;
    forward::send(&shared, request.parts, request.body.into()).await
}

/// Handles `GET /v1/models/{id}`: returns the upstream's response unchanged.
async fn model(State(shared): State<Arc<Shared>>, request: Request) -> Result<Response, ApiError> {
    let ReadRequest { mut parts, body, .. } = read_text(&shared, request).await?;
    parts.uri = path_ids::checked("/v1/models/", &parts.uri)
        .ok_or_else(|| ApiError::new(StatusCode::NOT_FOUND, "invalid model id"))?;
    forward::send(&shared, parts, body.into()).await
}

/// Handles `GET /v1/tools`: returns the definitions of the gateway's tools that the client may use, as in the `tools` of a request.
async fn tools(State(shared): State<Arc<Shared>>, Extension(principal): Extension<Principal>) -> Response {
    let generation = shared.generations.current();
    let definitions = shared.generations.definitions(&generation, &principal);
    Json(json!({ "data": definitions, "has_more": false })).into_response()
}

async fn health() -> &'static str {
    "ok\n"
}

/// Handles `GET /readyz`: returns an error with status 503 if the gateway is being stopped, the session store does not answer, or a required
/// MCP server has not listed its tools.
async fn ready(State(shared): State<Arc<Shared>>) -> Result<&'static str, ApiError> {
    check_open(&shared)?;
    if shared.draining.is_cancelled() {
        return Err(stopping());
    }
    if let Err(error) = shared.store.check().await {
        tracing::debug!(%error, "the session store does not answer");
        let message = "the session store does not answer";
        return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message));
    }
    let missing = shared.mcp.missing();
    if missing.is_empty() {
        return Ok("ok\n");
    }
    let message = format!(
        "required MCP servers have not listed their tools: {}",
        missing.join(", ")
    );
    Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message))
}

/// Content type of metrics.
pub(crate) const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    let size = shared.store.size().await.ok().flatten();
    let headers = [("content-type", OPEN_METRICS)];
    (
        headers,
        shared.metrics.render(size, shared.store.damaged_records()),
    )
        .into_response()
}

/// Handles `GET /`, by which clients check the gateway's address.
async fn root() -> &'static str {
    "tool-gateway\n"
}

async fn not_found(request: Request) -> ApiError {
    let path = request.uri().path();
    let message = if cfg!(feature = "mcp") && path.ends_with("/mcp") {
        format!("`{path}` is not served; start the gateway with `--mcp`, or set `serve = true` in `[mcp]`")
    } else {
        format!(
            "unknown path `{path}`; expected POST /v1/messages, /v1/chat/completions or /v1/responses, or GET /v1/tools"
        )
    };
    ApiError::new(StatusCode::NOT_FOUND, message)
}

async fn not_allowed(request: Request) -> ApiError {
    let message = format!(
        "`{}` does not support method {}",
        request.uri().path(),
        request.method()
    );
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, message)
}
