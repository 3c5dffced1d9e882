//! Layer that asks for permission before a call (`can_use_tool`).
//!
//! [`Permission::by_hints`] allows tools that only read, and asks about all others:
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
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tower_layer::Layer;
use tower_service::Service;

pub use crate::allow_rules::{AllowRule, AllowRules};
use crate::call::catch::{self, BoxFuture, CallLimits, CatchUnwind};
use crate::call::edited::EditedArguments;
use crate::call::layer::{BoxError, ToolService};
use crate::call::request::ToolCallRequest;
use crate::call::tool_call::{Route, ToolCall};
use crate::call::{explain, handle};
use crate::host::context::{CancellationToken, Context};
use crate::host::session_values::{SessionValueError, SessionValues};
use crate::tool::entry::RegisteredTool;
use crate::wire::definition::{Hints, ToolDefinition};
use crate::wire::issue::Issue;
use crate::wire::result::{Failure, ToolOutcome};

/// Layer that asks for permission before a call; see the [module](self).
///
/// The time of a decision does not count for the tool's timeout and for the deadline of the call's [context](Context).
/// Cancelling the call stops the decision. Calls of one turn are decided concurrently. Calls of unknown tools and calls
/// with invalid arguments are passed on without a decision: the registry rejects them. If the `decide` function panics,
/// the call is not passed on.
///
/// The decision is about the call as this layer receives it. Layers that change calls belong outside, so add them
/// later. A layer with a time limit that includes decisions belongs outside, too.
#[doc(alias = "can_use_tool")]
#[derive(Clone)]
pub struct Permission {
    decide: Arc<Decide>,
    is_allowed: fn(&Hints) -> bool,
    /// Notifies the calls that wait for a decision of a new rule.
    rule_added: Arc<Notify>,
}

type Decide = dyn Fn(PermissionRequest) -> BoxFuture<Decision> + Send + Sync;

impl Permission {
    /// Asks `decide` about every call.
    pub fn new<F, R>(decide: F) -> Self
    where
        F: Fn(PermissionRequest) -> R + Send + Sync + 'static,
        R: Future<Output = Decision> + Send + 'static, // write `async |request| ..`
    {
        Self {
            decide: Arc::new(move |request| Box::pin(decide(request))),
            is_allowed: |_| false,
            rule_added: Arc::default(),
        }
    }

    /// Allows calls of tools that only read, and asks `decide` about all others.
    ///
    /// A tool only reads if its [hints](Hints) have `read_only`, and neither `destructive` nor `open_world`. A tool
    /// without hints may do anything, and a request to an open world may send data to it. Hints are claims: for tools
    /// of a server that you do not trust, use [`new`](Self::new).
    pub fn by_hints<F, R>(decide: F) -> Self
    where
        F: Fn(PermissionRequest) -> R + Send + Sync + 'static,
        R: Future<Output = Decision> + Send + 'static, // write `async |request| ..`
    {
        Self {
            is_allowed: only_reads,
            ..Self::new(decide)
        }
    }

    /// Decides on a call.
    async fn check(&self, call: &mut ToolCall) -> PermissionVerdict {
        let Some((tool, route)) = call.tool().zip(call.route.as_ref()) else {
            return PermissionVerdict::Allowed;
        };
        if (self.is_allowed)(&tool.definition().hints) {
            return PermissionVerdict::Allowed;
        }
        let limits = CallLimits {
            deadline: call.context.deadline(),
            token: call.context.external_token(),
        };
        let rejected =
            |failure, text: &str| PermissionVerdict::Rejected(handle::failed(call.id.clone(), failure, text));
        if let Some(failure) = limits.stop_reason() {
            return rejected(
                failure,
                &explain::stopped_before_start(call.qualified_name(), failure),
            );
        }
        let Some(prepared) = call.prepare().filter(|request| request.errors.is_empty()) else {
            return PermissionVerdict::Allowed;
        };
        let session = RulesOfSession { call, route };
        // Created before the rules are read, so that no later rule is missed.
        let rule_added = self.rule_added.notified();
        if session.allow(&prepared) {
            return PermissionVerdict::Allowed;
        }
        let request = PermissionRequest {
            call: prepared.clone(),
            context: call.context.clone().with_progress_of_call(),
            tool: Arc::clone(tool),
        };
        let pause = route.deadline.pause();
        let undecided = call.context.extension::<WhileUndecided>().cloned();
        let decision = match catch::catch_panic(|| (self.decide)(request)) {
            Ok(decision) => {
                let decision = until_cancelled(CatchUnwind::new(decision), undecided);
                let mut decision = pin!(decision);
                let mut rule_added = pin!(rule_added);
                loop {
                    if let Some(decision) = until_notified(decision.as_mut(), rule_added.as_mut()).await {
                        break decision;
                    }
                    rule_added.set(self.rule_added.notified());
                    if session.allow(&prepared) {
                        break Ok(Decision::Allow);
                    }
                }
            }
            Err(failure) => Err(failure),
        };
        let paused = pause.end();
        match decision {
            Ok(Decision::Allow) => {
                call.context.put_off_deadline(paused);
                PermissionVerdict::Allowed
            }
            Ok(Decision::AllowAlways(rule)) => {
                session.add(rule);
                self.rule_added.notify_waiters();
                call.context.put_off_deadline(paused);
                PermissionVerdict::Allowed
            }
            Ok(Decision::AllowWith(arguments)) => {
                call.context.put_off_deadline(paused);
                let Some(edited) = EditedArguments::new(&prepared, &arguments) else {
                    return PermissionVerdict::Allowed;
                };
                call.input = edited.text.into();
                PermissionVerdict::Edited(Edit {
                    note: edited.note,
                    warnings: prepared.warnings,
                })
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

/// Verdict on a call.
enum PermissionVerdict {
    Allowed,
    /// The call is passed on with other arguments.
    Edited(Edit),
    Rejected(ToolOutcome),
}

/// A change of the arguments.
struct Edit {
    note: String,
    /// Warnings about the original arguments.
    warnings: Vec<Issue>,
}

impl Edit {
    /// Adds the change to the outcome of the call.
    fn record(self, outcome: &mut ToolOutcome) {
        let Self { note, mut warnings } = self;
        warnings.retain(|warning| !outcome.warnings.contains(warning));
        outcome.warnings.splice(..0, warnings);
        outcome.notes.push(note);
    }
}

/// The rules of a call's session.
struct RulesOfSession<'a> {
    call: &'a ToolCall,
    route: &'a Route,
}

impl RulesOfSession<'_> {
    /// Returns whether a rule allows the call. Rules that cannot be read allow no call.
    fn allow(&self, request: &ToolCallRequest) -> bool {
        let context = &self.call.context;
        let values = match context.session_values() {
            Some(values) => Some(values.clone()),
            None => self.route.target.states().sessions.get(context.session()),
        };
        let Some(values) = values.filter(SessionValues::contains::<AllowRules>) else {
            return false;
        };
        match values.get::<AllowRules>() {
            Ok(rules) => {
                let arguments = request.is_exact().then(|| request.complete_arguments());
                rules.lock().allow(self.call.qualified_name(), arguments.as_ref())
            }
            Err(error) => self.log("the rules of a session cannot be read", &error),
        }
    }

    /// Adds a rule. If that fails, the next call is asked about, too.
    fn add(&self, mut rule: AllowRule) {
        let context = &self.call.context;
        // Name in the layers of a nested registry.
        if rule.tool == self.call.name {
            self.call.qualified_name().clone_into(&mut rule.tool);
        }
        let values = match context.session_values() {
            Some(values) => values.clone(),
            None => self.route.target.states().sessions.values(context.session()),
        };
        match values.get::<AllowRules>() {
            Ok(rules) => rules.lock().add(rule),
            Err(error) => _ = self.log("a rule was not kept", &error),
        }
    }

    fn log(&self, message: &str, error: &SessionValueError) -> bool {
        tracing::error!(tool = self.call.qualified_name(), %error, "{message}");
        false
    }
}

/// Cancels a call while it waits for a decision: an [extension](Context::with_extension) of its context. After the
/// decision the token has no effect, so that a running call completes although no caller waits for it any more.
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

/// Waits for a decision, or for a cancellation.
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

/// Waits for a decision; returns `None` if a rule is added first.
async fn until_notified<T>(
    mut decision: Pin<&mut impl Future<Output = T>>,
    mut rule_added: Pin<&mut Notified<'_>>,
) -> Option<T> {
    // The rule is polled first: a decision that is still queued must not start.
    poll_fn(|cx| match rule_added.as_mut().poll(cx) {
        Poll::Ready(()) => Poll::Ready(None),
        Poll::Pending => decision.as_mut().poll(cx).map(Some),
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

/// A decision on a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// The call is passed on.
    Allow,
    /// The call is passed on with these arguments, which replace all original arguments. Edited arguments are coerced
    /// and validated like all others. A [note](ToolOutcome::notes) after the result lists the changes for the model.
    AllowWith(Map<String, Value>),
    /// The call is passed on, and the rule allows later calls of the session without asking: use
    /// [`PermissionRequest::rule_for_tool`] or [`rule_for_call`](PermissionRequest::rule_for_call). The session keeps
    /// its [rules](AllowRules). Calls without a session share their rules, so give each user's calls a
    /// [session](Context::with_session). Waiting calls of the same [`Permission`] that the rule allows are passed on
    /// at once, and the futures of their decisions are dropped.
    ///
    /// A rule applies to every [`Permission`] around the tool. A policy that has to see every call must not be a
    /// [`Permission`], since a user's rule would decide in its place: use another kind of layer, such as tower's
    /// `FilterLayer`.
    AllowAlways(AllowRule),
    /// The call fails with [`Failure::Denied`], and the model reads this text.
    Deny(String),
    /// The call fails with [`Failure::Interrupted`], and the model reads that approval is needed. Decisions that take
    /// longer than a call can wait are possible: the host receives the failure, asks the user, and repeats the call.
    Interrupt,
}

/// A call that needs a decision.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PermissionRequest {
    /// Valid call, with the arguments that the function would receive.
    pub call: ToolCallRequest,
    /// The context of the call, with its session.
    pub context: Context,
    tool: Arc<RegisteredTool>,
}

impl PermissionRequest {
    /// Returns the definition of the called tool, with its [hints](ToolDefinition::hints).
    pub fn definition(&self) -> &ToolDefinition {
        self.tool.definition()
    }

    /// Returns the rule that allows every call of this tool.
    pub fn rule_for_tool(&self) -> AllowRule {
        AllowRule::for_tool(self.tool.qualified_name.as_str())
    }

    /// Returns the rule that allows the calls of this tool with the same arguments. A call with a number that 64 bits
    /// cannot represent, or that is not in its shortest form (`1.50`, `1e3`), is never allowed by the rule and asked
    /// about again.
    pub fn rule_for_call(&self) -> AllowRule {
        AllowRule::for_call(self.tool.qualified_name.as_str(), self.call.complete_arguments())
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
                PermissionVerdict::Allowed => inner.call(call).await,
                PermissionVerdict::Edited(edit) => {
                    let mut outcome = inner.call(call).await?;
                    edit.record(&mut outcome);
                    Ok(outcome)
                }
                PermissionVerdict::Rejected(rejected) => Ok(rejected),
            }
        })
    }
}
