//! [`admit`]: the middleware of all routes. Counts requests, and admits them by host, origin, client key and the limits of the client.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::{cors, framing, origin};
use crate::server::access::client_key::authenticate;
use crate::server::access::client_limits::{OverLimit, Permit};
use crate::server::access::hop;
use crate::server::body::flushed::Flushed;
use crate::server::body::holding::Holding;
use crate::server::observe::metrics::RouteMetrics;
use crate::server::turns::shared::Shared;
use crate::wire::error::ApiError;
use crate::wrapped_body::WrappedBody;

/// Kinds of requests that a route admits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Requests for allowed hosts, from allowed origins.
    Anyone,
    /// Requests with a client's key, if there are keys.
    Client,
    /// Requests of a client within its limits, until the gateway is stopped. Handlers find the client's
    /// [`Principal`](crate::session::principal::Principal) in the extensions.
    ClientWithinLimits,
}

/// Admission to one route.
#[derive(Debug)]
pub(crate) struct Admission {
    pub(crate) shared: Arc<Shared>,
    /// Path of the gateway's route. The path is not axum's `MatchedPath`, which includes the prefix of an outer router.
    pub(crate) path: &'static str,
    pub(crate) access: Access,
    /// Whether every host and origin is admitted.
    pub(crate) any_host: bool,
    pub(crate) metrics: RouteMetrics,
}

/// Counts a request, and answers it if the route admits it.
pub(crate) async fn admit(
    State(admission): State<Arc<Admission>>,
    mut request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let origin = admission.readable_by(request.headers());
    let mut response = match admission.check(&mut request) {
        Ok(None) if origin.is_some() && cors::is_preflight(request.method(), request.headers()) => {
            cors::preflight(request.headers())
        }
        Ok(None) => next.run(request).await,
        Ok(Some(permit)) => next.run(request).await.map(|body| {
            let body = WrappedBody::new(body, Flushed::new());
            Body::new(WrappedBody::new(body, Holding(permit)))
        }),
        Err(rejection) => rejection.into_response(),
    };
    if let Some(origin) = origin {
        cors::allow(response.headers_mut(), origin);
    }
    let status = response.status().as_u16();
    let metrics = &admission.shared.metrics;
    metrics.answered(admission.path, &admission.metrics, status, began.elapsed());
    response
}

/// Routes for the operator, which pages read only if `allowed_origins` has their origin.
const OPERATOR_ROUTES: [&str; 3] = ["/metrics", "/healthz", "/readyz"];

impl Admission {
    /// Returns the origin of a request whose pages may read the response: an allowed origin; without client keys an origin of this machine,
    /// and with client keys every origin, since browsers send no key by themselves.
    fn readable_by(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let settings = &self.shared.settings;
        let origin = headers.get(header::ORIGIN)?;
        let text = origin.to_str().ok()?;
        let is_served = if OPERATOR_ROUTES.contains(&self.path) {
            false
        } else if self.any_host {
            !self.shared.keys.is_empty()
        } else {
            origin::is_local(text)
        };
        (is_served || settings.allowed_origins.allow(text)).then(|| origin.clone())
    }

    /// Checks a request. Until the permit is dropped, it counts as a running request of the client.
    fn check(&self, request: &mut Request) -> Result<Option<Permit>, Rejection> {
        let shared = &*self.shared;
        framing::check(request.headers()).map_err(Rejection::Framing)?;
        hop::check(request.headers())?;
        origin::check_one_host(request.headers())?;
        if !self.any_host {
            let allowed = &shared.settings.allowed_origins;
            origin::check(request.uri(), request.headers(), allowed)?;
        }
        if self.access == Access::Anyone {
            return Ok(None);
        }
        if self.access == Access::ClientWithinLimits {
            check_open(shared)?;
        }
        let principal = authenticate(&shared.secret, &shared.keys, request.headers())?;
        if self.access == Access::Client {
            request.extensions_mut().insert(principal);
            return Ok(None);
        }
        let limits = &shared.settings.limits;
        let permit = shared.client_limits.admit(limits, &principal).map_err(|over| {
            shared.metrics.requests_limited.inc();
            Rejection::OverLimit(over)
        })?;
        request.extensions_mut().insert(principal);
        Ok(Some(permit))
    }
}

/// Checks that the gateway is not being stopped.
pub(crate) fn check_open(shared: &Shared) -> Result<(), ApiError> {
    if shared.closing.is_cancelled() {
        return Err(stopping());
    }
    Ok(())
}

/// Returns the error of a gateway that is being stopped.
pub(crate) fn stopping() -> ApiError {
    let message = "the gateway is being stopped; send the request to another, or later";
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message)
}

/// Error of a request that is not admitted.
enum Rejection {
    Error(ApiError),
    /// Error of a request whose end is not certain, so that no further request can be read from its connection.
    Framing(ApiError),
    OverLimit(OverLimit),
}

impl From<ApiError> for Rejection {
    fn from(error: ApiError) -> Self {
        Self::Error(error)
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        match self {
            Self::Error(error) => error.into_response(),
            Self::Framing(error) => ([(header::CONNECTION, "close")], error).into_response(),
            Self::OverLimit(over) => over.into_response(),
        }
    }
}
