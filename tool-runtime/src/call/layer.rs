//! `tower` layers around every call: permissions, offloading, limits, timeouts.
//!
//! ```
//! use std::time::Duration;
//! use tool_runtime::{ToolRegistry, tool};
//! use tower::timeout::TimeoutLayer;
//!
//! /// Read a web page.
//! #[tool]
//! async fn fetch() {
//!     tokio::time::sleep(Duration::from_secs(60)).await;
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let mut registry = ToolRegistry::new().layer(TimeoutLayer::new(Duration::from_millis(20)));
//! registry.register::<fetch>()?;
//! let result = registry.execute_tool("toolu_01", "fetch", "{}").await;
//! assert_eq!(result.text(), Some("request timed out")); // tower's message; `#[tool(timeout = ..)]` has a better message
//! # Ok(())
//! # }
//! ```
//!
//! [The guide](crate::guide::_7_layers) has examples: permissions, offloading, a custom layer.

use std::convert::Infallible;
use std::fmt;
use std::future::{Future, poll_fn, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use tokio::task_local;
use tower_layer::Layer;
use tower_service::Service;

use crate::call::tool_call::{LayerFuture, Route, ToolCall};
use crate::wire::result::ToolOutcome;

/// Error of a layer, which becomes the result of the call.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Inner service of a layer: the tools, and the layers that were added before.
///
/// A layer calls it with the received [`ToolCall`], which may be changed, or with a new call. The registry of the original
/// call runs the call, by its current name. A new call in a spawned task has no registry, and fails.
#[derive(Clone)]
pub struct ToolService(Arc<dyn DynService>);

impl Service<ToolCall> for ToolService {
    type Response = ToolOutcome;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<ToolOutcome, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), BoxError>> {
        // Each call waits for the readiness of a separate clone of the inner service; see `DynService::call`.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut call: ToolCall) -> Self::Future {
        // A new call from a layer has the route of the current call.
        call.route = call.route.take().or_else(|| ROUTE.try_get().ok());
        self.0.call(call)
    }
}

impl ToolService {
    /// Calls a clone of the service.
    pub(crate) fn start(&self, call: ToolCall) -> LayerFuture {
        self.0.call(call)
    }
}

impl fmt::Debug for ToolService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ToolService")
    }
}

/// Layers of a registry: the outermost layer, which contains the other layers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layers(Option<ToolService>);

impl Layers {
    /// Adds a layer around the existing layers.
    pub(crate) fn push<L>(&mut self, layer: L)
    where
        L: Layer<ToolService>,
        L::Service: Service<ToolCall, Response = ToolOutcome, Error: Into<BoxError>, Future: Send>
            + Clone
            + Send
            + Sync
            + 'static,
    {
        let inner = self.0.take().unwrap_or_else(|| ToolService(Arc::new(Innermost)));
        self.0 = Some(ToolService(Arc::new(Layered(layer.layer(inner)))));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the outermost layer; `None` if there are no layers.
    #[inline]
    pub(crate) fn outermost(&self) -> Option<&ToolService> {
        self.0.as_ref()
    }
}

task_local! {
    /// Route of the current call, for new calls of a layer. A layer gets its inner service before the tools are
    /// registered, so the tools are available only in a running call.
    pub(crate) static ROUTE: Route;
}

/// A type-erased service, callable through a shared reference.
trait DynService: Send + Sync {
    fn call(&self, call: ToolCall) -> LayerFuture;
}

/// Innermost service: the tools of the call's registry.
struct Innermost;

impl DynService for Innermost {
    fn call(&self, mut call: ToolCall) -> LayerFuture {
        match call.route.take() {
            Some(route) => route.run(call),
            None => Box::pin(ready(Err(
                "a layer made this call in another task; pass on the call that it was given".into(),
            ))),
        }
    }
}

struct Layered<S>(S);

impl<S> DynService for Layered<S>
where
    S: Service<ToolCall, Response = ToolOutcome, Error: Into<BoxError>, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static,
{
    fn call(&self, call: ToolCall) -> LayerFuture {
        // By tower's contract, readiness applies to one call, so each call uses a clone.
        let mut service = self.0.clone();
        Box::pin(async move {
            poll_fn(|context| service.poll_ready(context))
                .await
                .map_err(Into::into)?;
            service.call(call).await.map_err(Into::into)
        })
    }
}

/// Future of a registry as a `Service`.
pub(crate) type RegistryFuture = Pin<Box<dyn Future<Output = Result<ToolOutcome, Infallible>> + Send>>;
