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
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as Waking, Poll};

use tower_layer::Layer;
use tower_service::Service;

use crate::call::ToolCall;
use crate::execute::{self, Request};
use crate::explain;
use crate::isolate;
use crate::result::{Failure, ToolOutcome};
use crate::tools::Tools;

/// What a layer may fail with; it becomes the call's result, as an error.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What a layer is put around: the tools, and the layers that were added before.
///
/// A layer hands on the [`ToolCall`] that it was given (changed, if it likes); one that it made itself does not
/// know its registry and is answered with an error.
#[derive(Clone)]
pub struct ToolService(Arc<dyn Erased>);

impl Service<ToolCall> for ToolService {
    type Response = ToolOutcome;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<ToolOutcome, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Waking<'_>) -> Poll<Result<(), BoxError>> {
        // Each call waits for a clone of the service inside; see `Erased::call`.
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

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Runs a call through the layers; without any, straight away.
    pub(crate) async fn run(&self, tools: &Arc<Tools>, mut call: ToolCall) -> ToolOutcome {
        let Some(service) = &self.0 else {
            return execute::run(tools, Request::of(&mut call)).await;
        };
        let (id, name, context) = (call.id.clone(), call.name.clone(), call.context.clone());
        let scope = Arc::new(Scope {
            tools: Arc::clone(tools),
            is_reached: AtomicBool::new(false),
        });
        call.scope = Some(Arc::clone(&scope) as _);
        let started = isolate::call(|| service.0.call(call));
        // A layer may wait as well. The tool inside has the first word: it is given twice its time.
        let stop = isolate::Stop {
            deadline: context.deadline(),
            token: context.canceller(),
            tell: None,
            grace: isolate::GRACE * 2,
        };
        let ended = match started {
            Ok(future) => isolate::run(future, stop).await.output,
            Err(failure) => Err(failure),
        };
        let mut outcome = match ended {
            Ok(Ok(outcome)) => outcome,
            // The error's code is the layer's, too, and it ends here.
            Ok(Err(error)) => match isolate::call(move || error.to_string()) {
                Ok(text) => execute::failed(id.clone(), Failure::Layer, &text),
                Err(failure) => execute::failed(id.clone(), failure, unanswered(failure)),
            },
            Err(failure @ (Failure::TimedOut | Failure::Cancelled))
                if !scope.is_reached.load(Ordering::Relaxed) =>
            {
                execute::failed(id.clone(), failure, &explain::not_reached(&name, failure))
            }
            Err(failure) => execute::failed(id.clone(), failure, unanswered(failure)),
        };
        // Whatever a layer answers, the answer belongs to this call.
        outcome.result.tool_use_id = id;
        outcome
    }
}

/// The registry that a call was handed to, as its innermost service finds it.
struct Scope {
    tools: Arc<Tools>,
    /// Whether the call has come through all layers.
    is_reached: AtomicBool,
}

/// What the model reads when neither the tool nor a layer had an answer.
pub(crate) fn unanswered(failure: Failure) -> &'static str {
    match failure {
        Failure::TimedOut => "the call took too long and was stopped; try again later",
        Failure::Cancelled => "the call was cancelled before it had an answer",
        _ => "the call failed on its way to the tool or back; other calls are not affected",
    }
}

/// A service whose type is forgotten, callable through a shared reference.
trait Erased: Send + Sync {
    fn call(&self, call: ToolCall) -> Pin<Box<dyn Future<Output = Result<ToolOutcome, BoxError>> + Send>>;
}

/// The innermost service: the registry that the call came from.
struct Innermost;

impl Erased for Innermost {
    fn call(&self, call: ToolCall) -> Pin<Box<dyn Future<Output = Result<ToolOutcome, BoxError>> + Send>> {
        let mut call = call;
        Box::pin(async move {
            let scope = call
                .scope
                .clone()
                .and_then(|scope| scope.downcast::<Scope>().ok());
            match scope {
                Some(scope) => {
                    scope.is_reached.store(true, Ordering::Relaxed);
                    Ok(execute::run(&scope.tools, Request::of(&mut call)).await)
                }
                None => Err(
                    "a layer passed on a call of its own making; it must pass on the one it was given".into(),
                ),
            }
        })
    }
}

struct Layered<S>(S);

impl<S> Erased for Layered<S>
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
            poll_fn(|waking| service.poll_ready(waking))
                .await
                .map_err(Into::into)?;
            service.call(call).await.map_err(Into::into)
        })
    }
}

/// The future of a registry as a service, which never fails.
pub(crate) type Answered = Pin<Box<dyn Future<Output = Result<ToolOutcome, Infallible>> + Send>>;
