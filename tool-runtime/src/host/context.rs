//! The context of a call: session, deadline, cancellation, extensions.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::host::progress::{Progress, ProgressReport};
use crate::host::session_values::SessionValues;
use crate::wire::definition::ToolName;

/// The context of a call. The context does not contain the `tool_use_id`, since functions have no access to the id.
///
/// The host supplies a parameter of this type; the definition does not contain it. The host sets the context with
/// [`ToolCall::with_context`](crate::ToolCall::with_context). A context is cheap to clone, and easy to build in a
/// test:
///
/// ```
/// use std::time::Duration;
/// use tool_runtime::Context;
///
/// let context = Context::new().with_session("s-1").with_timeout(Duration::from_secs(5)).with_extension(7_u16);
/// assert_eq!(context.session(), Some("s-1"));
/// assert_eq!(context.extension::<u16>(), Some(&7));
/// assert!(!context.cancellation().is_cancelled());
/// ```
#[derive(Clone, Default)]
pub struct Context {
    session: Option<Arc<str>>,
    session_values: Option<SessionValues>,
    deadline: Option<Instant>,
    cancellation: Option<CancellationToken>,
    extensions: Option<Arc<Extensions>>,
    tool_name: Option<ToolName>,
}

type Extensions = Vec<(TypeId, Arc<dyn Any + Send + Sync>)>;

impl Context {
    /// Creates a context without session, deadline and cancellation.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the session of the call.
    #[must_use]
    pub fn with_session(mut self, session: impl Into<Arc<str>>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Sets the values that tools take as [`SessionState`](crate::SessionState), in place of the registry's values
    /// for the session. For hosts that store sessions.
    #[must_use]
    pub fn with_session_values(mut self, values: SessionValues) -> Self {
        self.session_values = Some(values);
        self
    }

    /// Sets the deadline of the call; the earlier of two deadlines applies.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(self.deadline.map_or(deadline, |earlier| earlier.min(deadline)));
        self
    }

    /// Sets a deadline relative to now, the creation of the context, not to the start of the call. The deadline
    /// covers the whole call, including waiting layers; a layer may set a new deadline when it passes the call on.
    /// Time spent waiting for a decision of [`Permission`](crate::permission::Permission) does not count. [A
    /// table](crate::guide::_5_host#time) lists all timeouts.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        match Instant::now().checked_add(timeout) {
            Some(deadline) => self.with_deadline(deadline),
            // Out of the clock's range: no deadline.
            None => self,
        }
    }

    /// Sets the token that cancels the call.
    #[must_use]
    pub fn with_cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = Some(token);
        self
    }

    /// Adds a value, keyed by its type; a second value of the same type replaces the first. Functions take the value
    /// as [`Extension<T>`](crate::Extension), or from their [`Context`].
    #[must_use]
    pub fn with_extension<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        let extensions = Arc::make_mut(self.extensions.get_or_insert_default());
        extensions.retain(|(id, _)| *id != TypeId::of::<T>());
        extensions.push((TypeId::of::<T>(), Arc::new(value)));
        self
    }

    /// Sets the channel for the latest [`Progress`] of the call's function. The channel closes when the last call
    /// with this context, or with a clone of it, has ended and the host has dropped its own clones.
    #[must_use]
    pub fn with_progress(self, sender: watch::Sender<ProgressReport>) -> Self {
        self.with_extension(Progress::new(sender))
    }

    /// Returns the context in a form that does not keep its progress channel open: for users' functions, which may
    /// keep the context.
    pub(crate) fn with_progress_of_call(self) -> Self {
        match self.extension::<Progress>().map(Progress::for_call) {
            Some(progress) => self.with_extension(progress),
            None => self,
        }
    }

    /// Sets the name of the called tool.
    pub(crate) fn with_tool_name(mut self, name: ToolName) -> Self {
        self.tool_name = Some(name);
        self
    }

    /// Returns the name by which the model calls the tool, with the prefixes of nested registries; `None` outside of a call. For
    /// texts to the model in handlers of [`register_source`](crate::ToolRegistry::register_source), which receive the name in the
    /// source.
    pub fn tool_name(&self) -> Option<&str> {
        self.tool_name.as_ref().map(ToolName::as_str)
    }

    /// Returns the progress channel, for functions that take the whole context, as dynamic tools do.
    pub fn progress(&self) -> Progress {
        self.extension::<Progress>().cloned().unwrap_or_default()
    }

    /// Returns the session of the call.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Returns the deadline of the call. In a function, this is the earlier of the host's deadline and the tool's
    /// `timeout`.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Returns the token that is cancelled with the call. Without [`with_cancellation`](Self::with_cancellation),
    /// each call of this method returns a new token.
    pub fn cancellation(&self) -> CancellationToken {
        self.cancellation.clone().unwrap_or_default()
    }

    /// Returns the extension of a type.
    pub fn extension<T: Send + Sync + 'static>(&self) -> Option<&T> {
        let (_, value) = self
            .extensions
            .as_deref()?
            .iter()
            .find(|(id, _)| *id == TypeId::of::<T>())?;
        value.downcast_ref()
    }

    /// Returns the host's values of the session.
    pub(crate) fn session_values(&self) -> Option<&SessionValues> {
        self.session_values.as_ref()
    }

    /// Moves the deadline, if there is one, to a later time.
    pub(crate) fn put_off_deadline(&mut self, by: Duration) {
        self.deadline = self.deadline.and_then(|deadline| deadline.checked_add(by));
    }

    /// Returns the host's token.
    pub(crate) fn external_token(&self) -> Option<&CancellationToken> {
        self.cancellation.as_ref()
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("tool_name", &self.tool_name())
            .field("session", &self.session)
            .field("session_values", &self.session_values)
            .field("deadline", &self.deadline)
            .field(
                "cancelled",
                &self.cancellation.as_ref().map(CancellationToken::is_cancelled),
            )
            .field("extensions", &self.extensions.as_ref().map_or(0, |all| all.len()))
            .finish()
    }
}

/// Signals that a call is cancelled. A function with a parameter of this type that awaits
/// [`cancelled`](Self::cancelled) has a [grace period](Self::GRACE_PERIOD) to clean up and return. Other functions
/// are dropped.
///
/// ```
/// use tool_runtime::{CancellationToken, tool};
///
/// /// Copy a large file.
/// #[tool]
/// async fn copy(cancel: CancellationToken) -> &'static str {
///     tokio::select! {
///         () = copy_all() => "copied",
///         () = cancel.cancelled() => "stopped, and the half copy is removed",
///     }
/// }
/// # async fn copy_all() { std::future::pending().await }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let token = CancellationToken::new();
/// let child = token.child();
/// token.cancel();
/// assert_eq!(copy(child).await, "stopped, and the half copy is removed");
/// # }
/// ```
#[derive(Clone, Default, Debug)]
pub struct CancellationToken(tokio_util::sync::CancellationToken);

impl CancellationToken {
    /// Time for which a function with a token or the [`Context`] may still run after its call is cancelled or past
    /// its deadline. Then the function is dropped.
    ///
    /// The surrounding layers have twice as long from the same moment, so that a result from the end of the grace
    /// period can pass them. A layer that waits for something else (a store, a user) must stop before that, or it is
    /// dropped with the result.
    pub const GRACE_PERIOD: Duration = Duration::from_millis(50);

    /// Creates a token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels this token and all its children.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Returns whether the token was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits until the token is cancelled.
    pub async fn cancelled(&self) {
        self.0.cancelled().await;
    }

    /// Returns a child token, which is cancelled with this token, or separately.
    #[must_use]
    pub fn child(&self) -> Self {
        Self(self.0.child_token())
    }

    /// Returns a guard that cancels the token when dropped.
    pub(crate) fn cancel_on_drop(self) -> CancelOnDrop {
        CancelOnDrop(self)
    }
}

impl From<tokio_util::sync::CancellationToken> for CancellationToken {
    fn from(token: tokio_util::sync::CancellationToken) -> Self {
        Self(token)
    }
}

/// Cancels a token when dropped, to stop tasks that a call has spawned.
#[derive(Debug)]
pub(crate) struct CancelOnDrop(CancellationToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
