//! `tower` around every call: permission, offload, limits, timeouts are layers.
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
//! assert_eq!(result.text(), Some("request timed out")); // tower's words; `#[tool(timeout = ..)]` has better ones
//! # Ok(())
//! # }
//! ```
//!
//! [The guide](crate::guide::_7_around_calls) has a permission, offloading and a layer of one's own.

use std::convert::Infallible;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context as TaskContext, Poll};

use tokio::task_local;
use tower_layer::Layer;
use tower_service::Service;

use crate::call::catch::{self, Limits};
use crate::call::explain;
use crate::call::handle::{self, CallParts, handle};
use crate::call::tool_call::{Route, ToolCall};
use crate::host::context::CancellationToken;
use crate::tool::table::Tools;
use crate::wire::result::{Failure, ToolOutcome};

/// What a layer may fail with; it becomes the call's result, as an error.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What a layer is put around: the tools, and the layers that were added before.
///
/// A layer passes on the [`ToolCall`] that it was given, changed or not, or one that it made itself: both go to the tools of
/// the same registry, and the name counts that they have when they get there. (A call that a layer makes in a task of its own has no
/// registry, and fails.)
#[derive(Clone)]
pub struct ToolService(Arc<dyn DynService>);

impl Service<ToolCall> for ToolService {
    type Response = ToolOutcome;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<ToolOutcome, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), BoxError>> {
        // Each call waits for a clone of the service inside; see `DynService::call`.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: ToolCall) -> Self::Future {
        self.0.call(call)
    }
}

impl fmt::Debug for ToolService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ToolService")
    }
}

/// The layers of a registry, outermost last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stack(Option<ToolService>);

impl Stack {
    /// Puts a layer around all that are there.
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

    /// The outermost layer, if there is any.
    pub(crate) fn outermost(&self) -> Option<&ToolService> {
        self.0.as_ref()
    }
}

/// Makes a call through the layers, and one outcome of whatever comes back.
pub(crate) async fn handle_in_layers(
    outermost: &ToolService,
    tools: &Arc<Tools>,
    mut call: ToolCall,
) -> ToolOutcome {
    let (id, name, context) = (call.id.clone(), call.name.clone(), call.context.clone());
    let route = Route {
        tools: Arc::clone(tools),
        is_reached: Arc::default(),
    };
    call.route = Some(route.clone());
    // A layer may hang as well. What the tool returns at the end of its grace period has a second one to pass it.
    let limits = Limits {
        deadline: context.deadline(),
        token: context.external_token(),
    };
    let result = ROUTE
        .scope(route.clone(), async {
            let started = catch::catch_panic(|| outermost.0.call(call))?;
            catch::run(started, limits, None, CancellationToken::GRACE_PERIOD * 2)
                .await
                .output
        })
        .await;
    let failed = |failure, text: &str| handle::failed(id.clone(), failure, text);
    let mut outcome = match result {
        Ok(Ok(outcome)) => outcome,
        // The code of the error is the layer's, too: it may panic, and is dropped here.
        Ok(Err(error)) => match catch::catch_panic(move || error.to_string()) {
            Ok(text) => failed(Failure::Layer, &text),
            Err(failure) => failed(failure, no_answer(failure)),
        },
        Err(failure @ (Failure::TimedOut | Failure::Cancelled))
            if !route.is_reached.load(Ordering::Relaxed) =>
        {
            failed(failure, &explain::stopped_in_layers(&name, failure))
        }
        Err(failure) => failed(failure, no_answer(failure)),
    };
    // A layer may answer with another id.
    outcome.result.tool_use_id = id;
    outcome
}

task_local! {
    /// The route of the call that a layer is working on, for calls that the layer makes itself.
    static ROUTE: Route;
}

/// What the model reads when neither the tool nor a layer had an answer.
pub(crate) fn no_answer(failure: Failure) -> &'static str {
    match failure {
        Failure::TimedOut => "the call took too long and was stopped; try again later",
        Failure::Cancelled => "the call was cancelled before it had an answer",
        _ => "the call failed on its way to the tool or back; other calls are not affected",
    }
}

/// A service whose type is forgotten, callable through a shared reference.
trait DynService: Send + Sync {
    fn call(&self, call: ToolCall) -> Pin<Box<dyn Future<Output = Result<ToolOutcome, BoxError>> + Send>>;
}

/// The innermost service: the tools of the registry that the call came from.
struct Innermost;

impl DynService for Innermost {
    fn call(
        &self,
        mut call: ToolCall,
    ) -> Pin<Box<dyn Future<Output = Result<ToolOutcome, BoxError>> + Send>> {
        // A call that a layer made itself goes where the call went that the layer was given.
        let route = call.route.take().or_else(|| ROUTE.try_get().ok());
        Box::pin(async move {
            let Some(Route { tools, is_reached }) = route else {
                return Err(
                    "a layer made this call in another task; pass on the call that it was given".into(),
                );
            };
            is_reached.store(true, Ordering::Relaxed);
            Ok(handle(&tools, CallParts::of(&mut call)).await)
        })
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
    fn call(&self, call: ToolCall) -> Pin<Box<dyn Future<Output = Result<ToolOutcome, BoxError>> + Send>> {
        // A clone, because readiness belongs to one call (tower's contract) and this service serves many.
        let mut service = self.0.clone();
        Box::pin(async move {
            poll_fn(|context| service.poll_ready(context))
                .await
                .map_err(Into::into)?;
            service.call(call).await.map_err(Into::into)
        })
    }
}

/// The future of a registry as a service, which never fails.
pub(crate) type RegistryFuture = Pin<Box<dyn Future<Output = Result<ToolOutcome, Infallible>> + Send>>;
