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
//! assert_eq!(result.text(), Some("request timed out")); // tower's message; that of `#[tool(timeout = ..)]` is better
//! # Ok(())
//! # }
//! ```
//!
//! [The guide](crate::guide::_7_layers) has examples: permissions, offloading, a custom layer.

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
use crate::call::deadline::SharedDeadline;
use crate::call::explain;
use crate::call::handle::{CallState, handle};
use crate::call::tool_call::{Route, ToolCall};
use crate::host::context::CancellationToken;
use crate::tool::table::{NestedRegistry, Tools};
use crate::wire::result::{Failure, ToolOutcome};

/// The error of a layer, which becomes the call's result.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The inner service of a layer: the tools, and the layers that were added before.
///
/// A layer passes on the [`ToolCall`] that it received, changed or not, or a new one. Both go to the tools of the same registry,
/// by the name that they have then. (A new call in a spawned task has no registry, and fails.)
#[derive(Clone)]
pub struct ToolService(Arc<dyn DynService>);

impl Service<ToolCall> for ToolService {
    type Response = ToolOutcome;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<ToolOutcome, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), BoxError>> {
        // Each call waits for its own clone of the inner service; see `DynService::call`.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut call: ToolCall) -> Self::Future {
        // A new call of a layer has the route of the current call.
        call.route = call.route.take().or_else(|| ROUTE.try_get().ok());
        self.0.call(call)
    }
}

impl fmt::Debug for ToolService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ToolService")
    }
}

/// The layers of a registry: the outermost, which has the others inside.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layers(Option<ToolService>);

impl Layers {
    /// Adds a layer around the others.
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

    /// A registry that has these layers and these tools, to be nested in another one.
    pub(crate) fn into_nested(self, tools: Arc<Tools>) -> NestedRegistry {
        let layers = Arc::new(self);
        NestedRegistry { tools, layers }
    }

    /// The layers of a nested registry, which are of this type: [`into_nested`](Self::into_nested) alone makes one.
    fn of_nested(nested: &NestedRegistry) -> Option<&Self> {
        nested.layers.downcast_ref()
    }
}

/// Runs a call through the layers. Their result or error becomes the outcome.
pub(crate) async fn handle_in_layers(layers: &Layers, tools: &Arc<Tools>, state: &mut CallState<'_>) {
    handle_within(None, layers, tools, state).await;
}

/// The same for a call that may have come through the layers of an outer registry, with their deadline.
async fn handle_within(
    outer: Option<SharedDeadline>,
    layers: &Layers,
    tools: &Arc<Tools>,
    state: &mut CallState<'_>,
) {
    let Some(outermost) = &layers.0 else {
        return dispatch(outer, tools, state).await;
    };
    let mut call = state.take_call();
    let deadline = SharedDeadline::new(state.context.deadline(), outer);
    let route = Route {
        tools: Arc::clone(tools),
        is_reached: Arc::default(),
        deadline: deadline.clone(),
    };
    call.route = Some(route.clone());
    // A layer may hang, too. It has a second grace period, for results from the end of the tool's own.
    let limits = Limits {
        deadline: state.context.deadline(),
        token: state.context.external_token(),
    };
    let result = ROUTE
        .scope(route.clone(), async {
            let started = catch::catch_panic(|| outermost.0.call(call))?;
            catch::run(
                started,
                limits,
                Some(&deadline),
                None,
                CancellationToken::GRACE_PERIOD * 2,
            )
            .await
            .output
        })
        .await;
    match result {
        Ok(Ok(outcome)) => {
            // A layer may return another id.
            let id = std::mem::take(&mut state.outcome.result.tool_use_id);
            state.outcome = outcome;
            state.outcome.result.tool_use_id = id;
            state
                .outcome
                .result
                .replace_empty_content(Some(qualified_name(tools, state.name)));
        }
        // The error's `Display` and `Drop` may panic, too.
        Ok(Err(error)) => match catch::catch_panic(move || error.to_string()) {
            Ok(text) if text.trim().is_empty() => state.fail(Failure::Layer, no_answer(Failure::Layer)),
            Ok(text) => state.fail(Failure::Layer, &text),
            Err(failure) => state.fail(failure, no_answer(failure)),
        },
        Err(failure @ (Failure::TimedOut | Failure::Cancelled))
            if !route.is_reached.load(Ordering::Relaxed) =>
        {
            state.fail(
                failure,
                &explain::stopped_in_layers(qualified_name(tools, state.name), failure),
            );
        }
        Err(failure) => state.fail(failure, no_answer(failure)),
    }
}

/// The name by which the model calls a tool; an unknown one as it was sent.
fn qualified_name<'a>(tools: &'a Tools, name: &'a str) -> &'a str {
    tools.tool(name).map_or(name, |tool| tool.qualified_name.as_str())
}

/// Runs a call in the registry that its tool is from: this one, or a nested one, within its layers.
async fn dispatch(outer: Option<SharedDeadline>, tools: &Tools, state: &mut CallState<'_>) {
    match tools.nested(state.name) {
        None => handle(tools, state).await,
        Some((nested, name)) => handle_nested(outer, nested, name, state).await,
    }
}

/// Runs a call in a nested registry, as if that one had been called. Boxed, since it is recursive.
fn handle_nested<'a>(
    outer: Option<SharedDeadline>,
    nested: &'a NestedRegistry,
    name: &'a str,
    state: &'a mut CallState<'_>,
) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
    Box::pin(async move {
        // Never without its layers: one may be a permission.
        let Some(layers) = Layers::of_nested(nested) else {
            return state.fail(Failure::Layer, no_answer(Failure::Layer));
        };
        let id = std::mem::take(&mut state.outcome.result.tool_use_id);
        let mut inner = CallState::new(id, name, state.input.take(), state.context);
        inner.policy = state.policy;
        handle_within(outer, layers, &nested.tools, &mut inner).await;
        state.outcome = inner.outcome;
    })
}

task_local! {
    /// The route of the current call, for new calls that a layer creates.
    static ROUTE: Route;
}

/// The text for the model if neither the tool nor a layer returned.
pub(crate) fn no_answer(failure: Failure) -> &'static str {
    match failure {
        Failure::TimedOut => "the call timed out and was stopped; try again later",
        Failure::Cancelled => "the call was cancelled before it returned a result",
        _ => "the call failed on its way to the tool or back; other calls are not affected",
    }
}

/// A type-erased service, callable through a shared reference.
trait DynService: Send + Sync {
    fn call(&self, call: ToolCall) -> Pin<Box<dyn Future<Output = Result<ToolOutcome, BoxError>> + Send>>;
}

/// The innermost service: the tools of the call's registry.
struct Innermost;

impl DynService for Innermost {
    fn call(
        &self,
        mut call: ToolCall,
    ) -> Pin<Box<dyn Future<Output = Result<ToolOutcome, BoxError>> + Send>> {
        let route = call.route.take();
        Box::pin(async move {
            let Some(Route {
                tools,
                is_reached,
                deadline,
            }) = route
            else {
                return Err(
                    "a layer made this call in another task; pass on the call that it was given".into(),
                );
            };
            is_reached.store(true, Ordering::Relaxed);
            let mut state = CallState::of(&mut call);
            dispatch(Some(deadline), &tools, &mut state).await;
            Ok(state.outcome)
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
        // Cloned, because readiness is for one call (tower's contract).
        let mut service = self.0.clone();
        Box::pin(async move {
            poll_fn(|context| service.poll_ready(context))
                .await
                .map_err(Into::into)?;
            service.call(call).await.map_err(Into::into)
        })
    }
}

/// The future of a registry as a `Service`.
pub(crate) type RegistryFuture = Pin<Box<dyn Future<Output = Result<ToolOutcome, Infallible>> + Send>>;
