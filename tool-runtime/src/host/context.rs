//! The context of a call: session, deadline, cancellation, extensions.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::host::progress::{Progress, ProgressReport};
use crate::host::session_values::SessionValues;

/// The context of a call, without the `tool_use_id`, which functions do not see.
///
/// A parameter of this type is supplied by the host and is not in the definition. The host sets it with
/// [`ToolCall::with_context`](crate::ToolCall::with_context). It is cheap to clone, and easy to build in a test:
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

    /// Sets the values that tools take as [`SessionState`](crate::SessionState), instead of those that the registry keeps for the
    /// session. For hosts that store sessions.
    #[must_use]
    pub fn with_session_values(mut self, values: SessionValues) -> Self {
        self.session_values = Some(values);
        self
    }

    /// Sets the deadline of the call; of two, the earlier one counts.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(self.deadline.map_or(deadline, |earlier| earlier.min(deadline)));
        self
    }

    /// Sets a deadline relative to now, the creation of the context, not to the start of the call. It covers the whole call,
    /// including layers that wait; these may set a new one when they pass the call on. A decision that
    /// [`Permission`](crate::permission::Permission) waits for does not count.
    /// [A table](crate::guide::_5_host#time) lists all timeouts.
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

    /// Adds a value, which is looked up by its type; a second one of the same type replaces it. Functions take it as
    /// [`Extension<T>`](crate::Extension), or ask their [`Context`] for it.
    #[must_use]
    pub fn with_extension<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        let extensions = Arc::make_mut(self.extensions.get_or_insert_default());
        extensions.retain(|(id, _)| *id != TypeId::of::<T>());
        extensions.push((TypeId::of::<T>(), Arc::new(value)));
        self
    }

    /// Sets the channel that has the latest [`Progress`] of the call's function. It closes when the last call with this context, or a
    /// clone of it, has ended and the host has dropped its own clones.
    #[must_use]
    pub fn with_progress(self, sender: watch::Sender<ProgressReport>) -> Self {
        self.with_extension(Progress::new(sender))
    }

    /// Returns the context in a form that does not keep the channel of its progress open: for functions of users, which may keep it.
    pub(crate) fn with_progress_of_call(self) -> Self {
        match self.extension::<Progress>().map(Progress::for_call) {
            Some(progress) => self.with_extension(progress),
            None => self,
        }
    }

    /// Returns the progress channel, for functions that take the whole context, as dynamic tools do.
    pub fn progress(&self) -> Progress {
        self.extension::<Progress>().cloned().unwrap_or_default()
    }

    /// Returns the session of the call.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Returns the deadline of the call. In a function, the earlier of the host's and the tool's own `timeout`.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Returns the token that is cancelled with the call. Without [`with_cancellation`](Self::with_cancellation),
    /// each is a new one.
    pub fn cancellation(&self) -> CancellationToken {
        self.cancellation.clone().unwrap_or_default()
    }

    /// Returns a value that the host added.
    pub fn extension<T: Send + Sync + 'static>(&self) -> Option<&T> {
        let (_, value) = self
            .extensions
            .as_deref()?
            .iter()
            .find(|(id, _)| *id == TypeId::of::<T>())?;
        value.downcast_ref()
    }

    /// Returns the values of the session that the host set.
    pub(crate) fn session_values(&self) -> Option<&SessionValues> {
        self.session_values.as_ref()
    }

    /// Moves the deadline, if there is one, to a later time.
    pub(crate) fn put_off_deadline(&mut self, by: Duration) {
        self.deadline = self.deadline.and_then(|deadline| deadline.checked_add(by));
    }

    /// Returns the token that the host set.
    pub(crate) fn external_token(&self) -> Option<&CancellationToken> {
        self.cancellation.as_ref()
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
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

/// Signals that a call is cancelled. A function that takes it as a parameter and awaits [`cancelled`](Self::cancelled) has a
/// [grace period](Self::GRACE_PERIOD) to clean up and return; others are dropped.
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
    /// The time for which a function with a token or the [`Context`] may still run after its call is cancelled or past its deadline.
    /// Then it is dropped.
    ///
    /// The layers around it have twice as long from the same moment, so that a result from the end of the grace period can
    /// pass them. A layer that waits for something else (a store, a user) must stop before that, or it is dropped with the
    /// result.
    pub const GRACE_PERIOD: Duration = Duration::from_millis(50);

    /// Creates a token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels this token and all its children.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Returns whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits until it is cancelled.
    pub async fn cancelled(&self) {
        self.0.cancelled().await;
    }

    /// Returns a child token, which is cancelled with this one, or on its own.
    #[must_use]
    pub fn child(&self) -> Self {
        Self(self.0.child_token())
    }

    /// Cancels when the guard is dropped.
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
