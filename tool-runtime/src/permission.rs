//! Permission: a layer that asks before a call (`can_use_tool`).
//!
//! [`Permission::by_hints`] lets tools run that only read, and asks about the others:
//!
//! ```
//! use tool_runtime::permission::{Decision, Permission, PermissionRequest};
//! use tool_runtime::{ToolRegistry, tool};
//!
//! /// Delete a file.
//! #[tool(destructive)]
//! async fn delete(
//!     /// Its path.
//!     path: String,
//! ) {}
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let permission = Permission::by_hints(async |request: PermissionRequest| {
//!     match request.call.argument("path").and_then(|path| path.as_str()) {
//!         Some(path) if path.starts_with("/tmp/") => Decision::Allow,
//!         Some(path) => Decision::Deny(format!("`{path}` is not in /tmp")),
//!         None => Decision::Interrupt, // the host has to ask somebody, and calls again
//!     }
//! });
//! let mut registry = ToolRegistry::new().layer(permission);
//! registry.register::<delete>()?;
//!
//! let result = registry.execute_tool("toolu_01", "delete", r#"{ "path": "/etc/passwd" }"#).await;
//! assert_eq!(result.text(), Some("`/etc/passwd` is not in /tmp"));
//! # Ok(())
//! # }
//! ```

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use tower_layer::Layer;
use tower_service::Service;

use crate::call::catch::{self, BoxFuture, CatchUnwind, Limits};
use crate::call::layer::{BoxError, ToolService};
use crate::call::prepare::ToolCallRequest;
use crate::call::tool_call::ToolCall;
use crate::call::{explain, handle};
use crate::host::context::{CancellationToken, Context};
use crate::tool::entry::RegisteredTool;
use crate::wire::definition::{Hints, ToolDefinition};
use crate::wire::result::{Failure, ToolOutcome};

/// A layer that asks before a call; see the [module](self).
///
/// The time of a decision counts neither against the tool's timeout nor against the deadline of the call's
/// [context](Context); a cancellation of the call stops it. Calls of one turn are decided concurrently. Calls of unknown tools
/// and calls with invalid arguments are passed on without a decision: the registry rejects them. If the function that decides
/// panics, the call is not passed on.
///
/// The decision is about the call as it comes to this layer. Layers that change calls belong outside, and are added later; so is
/// a layer with a time limit, if decisions are to count against it.
#[doc(alias = "can_use_tool")]
#[derive(Clone)]
pub struct Permission {
    decide: Arc<Decide>,
    is_allowed: fn(&Hints) -> bool,
}

type Decide = dyn Fn(PermissionRequest) -> BoxFuture<Decision> + Send + Sync;

impl Permission {
    /// Asks `decide` about every call.
    pub fn new<F, R>(decide: F) -> Self
    where
        F: Fn(PermissionRequest) -> R + Send + Sync + 'static,
        R: Future<Output = Decision> + Send + 'static,
    {
        Self {
            decide: Arc::new(move |request| Box::pin(decide(request))),
            is_allowed: |_| false,
        }
    }

    /// Allows calls of tools that only read, and asks `decide` about all others.
    ///
    /// A tool only reads if its [hints](Hints) have `read_only`, and neither `destructive` nor `open_world`: a tool without hints
    /// may do anything, and what is read from an open world may send data to it. Hints are claims: for tools of a server that you
    /// do not trust, use [`new`](Self::new).
    pub fn by_hints<F, R>(decide: F) -> Self
    where
        F: Fn(PermissionRequest) -> R + Send + Sync + 'static,
        R: Future<Output = Decision> + Send + 'static,
    {
        Self {
            is_allowed: only_reads,
            ..Self::new(decide)
        }
    }

    /// Decides about a call; the outcome if it is not to be passed on.
    async fn check(&self, call: &mut ToolCall) -> Option<ToolOutcome> {
        let (tool, route) = (call.tool()?, call.route.as_ref()?);
        if (self.is_allowed)(&tool.definition().hints) {
            return None;
        }
        let limits = Limits {
            deadline: call.context.deadline(),
            token: call.context.external_token(),
        };
        let rejected = |failure, text: &str| Some(handle::failed(call.id.clone(), failure, text));
        if let Some(failure) = limits.stop_reason() {
            return rejected(
                failure,
                &explain::stopped_before_start(call.qualified_name(), failure),
            );
        }
        let request = PermissionRequest {
            call: call.prepare().filter(|request| request.errors.is_empty())?,
            context: call.context.clone(),
            tool: Arc::clone(tool),
        };
        let pause = route.deadline.pause();
        let undecided = call.context.extension::<WhileUndecided>().cloned();
        let decision = match catch::catch_panic(|| (self.decide)(request)) {
            Ok(decision) => until_cancelled(CatchUnwind::new(decision), undecided).await,
            Err(failure) => Err(failure),
        };
        let paused = pause.end();
        match decision {
            Ok(Decision::Allow) => {
                call.context.put_off_deadline(paused);
                None
            }
            Ok(Decision::Deny(text)) => {
                rejected(Failure::Denied, &explain::denied(call.qualified_name(), text))
            }
            Ok(Decision::Interrupt) => {
                rejected(Failure::Interrupted, &explain::interrupted(call.qualified_name()))
            }
            Err(failure @ Failure::Cancelled) => rejected(
                failure,
                &explain::stopped_before_start(call.qualified_name(), failure),
            ),
            Err(failure) => rejected(failure, &explain::undecided(call.qualified_name())),
        }
    }
}

/// Cancels a call as long as it waits for a decision: an [extension](Context::with_extension) of its context. Afterwards it has no
/// effect, so that what was begun comes to its end although nobody waits for it any more.
///
/// ```
/// use tool_runtime::permission::WhileUndecided;
/// use tool_runtime::{CancellationToken, Context};
///
/// let client_is_gone = CancellationToken::new();
/// let context = Context::new().with_extension(WhileUndecided(client_is_gone.clone()));
/// assert!(context.extension::<WhileUndecided>().is_some());
/// ```
#[derive(Debug, Clone)]
pub struct WhileUndecided(pub CancellationToken);

/// Waits for a decision, or until it is not wanted any more.
async fn until_cancelled(
    decision: impl Future<Output = Result<Decision, Failure>>,
    undecided: Option<WhileUndecided>,
) -> Result<Decision, Failure> {
    let Some(WhileUndecided(token)) = undecided else {
        return decision.await;
    };
    let (mut decision, mut cancelled) = (pin!(decision), pin!(token.cancelled()));
    poll_fn(|cx| match decision.as_mut().poll(cx) {
        Poll::Pending => cancelled.as_mut().poll(cx).map(|()| Err(Failure::Cancelled)),
        decided @ Poll::Ready(_) => decided,
    })
    .await
}

fn only_reads(hints: &Hints) -> bool {
    hints.read_only == Some(true) && hints.destructive != Some(true) && hints.open_world != Some(true)
}

impl fmt::Debug for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Permission")
    }
}

/// What is to happen with a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// The call is passed on.
    Allow,
    /// The call fails with [`Failure::Denied`] and this text, which the model reads.
    Deny(String),
    /// The call fails with [`Failure::Interrupted`], and the model reads that approval is needed. For decisions that are not
    /// made while the call waits: the host sees the failure, asks, and makes the call again.
    Interrupt,
}

/// A call that is to be decided about.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PermissionRequest {
    /// The call with the arguments as the function would get them; it has no errors.
    pub call: ToolCallRequest,
    /// The context of the call, with its session.
    pub context: Context,
    tool: Arc<RegisteredTool>,
}

impl PermissionRequest {
    /// The definition of the called tool, with its [hints](ToolDefinition::hints).
    pub fn definition(&self) -> &ToolDefinition {
        self.tool.definition()
    }
}

/// A [`Permission`] around the tools of a registry.
#[derive(Debug, Clone)]
pub struct PermissionService {
    permission: Permission,
    inner: ToolService,
}

impl Layer<ToolService> for Permission {
    type Service = PermissionService;

    fn layer(&self, inner: ToolService) -> PermissionService {
        PermissionService {
            permission: self.clone(),
            inner,
        }
    }
}

impl Service<ToolCall> for PermissionService {
    type Response = ToolOutcome;
    type Error = BoxError;
    type Future = BoxFuture<Result<ToolOutcome, BoxError>>;

    fn poll_ready(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut call: ToolCall) -> Self::Future {
        let Self {
            permission,
            mut inner,
        } = self.clone();
        Box::pin(async move {
            match permission.check(&mut call).await {
                Some(rejected) => Ok(rejected),
                None => inner.call(call).await,
            }
        })
    }
}
