//! What the host gives a call beside its arguments: session, deadline, cancellation, extensions.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a tool may know about the call it serves. Not the `tool_use_id`: functions never see it.
///
/// A parameter of this type is supplied by the host and is not in the definition: the host gives it to the call,
/// [`ToolCall::with_context`](crate::ToolCall::with_context). Cheap to clone, and easy to build in a test:
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
    deadline: Option<Instant>,
    cancellation: Option<CancellationToken>,
    extensions: Option<Arc<Extensions>>,
}

type Extensions = Vec<(TypeId, Arc<dyn Any + Send + Sync>)>;

impl Context {
    /// Neither session nor deadline, and nobody who cancels.
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the session that the call belongs to.
    #[must_use]
    pub fn with_session(mut self, session: impl Into<Arc<str>>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Sets the moment at which the call is given up; the earlier one counts if there are two.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(self.deadline.map_or(deadline, |earlier| earlier.min(deadline)));
        self
    }

    /// Sets the deadline this far from now: from the moment at which the context is made, not from the call's. All that
    /// happens until the answer is there counts, layers that wait for a user included; they may set one themselves when they
    /// pass the call on. [A table](crate::guide::_5_host#time) has all timeouts.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        match Instant::now().checked_add(timeout) {
            Some(deadline) => self.with_deadline(deadline),
            // Beyond what the clock can count: never.
            None => self,
        }
    }

    /// Lets `token` cancel the call.
    #[must_use]
    pub fn with_cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = Some(token);
        self
    }

    /// Adds a value of the host's own, found by its type; a second one of the same type takes its place.
    #[must_use]
    pub fn with_extension<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        let extensions = Arc::make_mut(self.extensions.get_or_insert_default());
        extensions.retain(|(id, _)| *id != TypeId::of::<T>());
        extensions.push((TypeId::of::<T>(), Arc::new(value)));
        self
    }

    /// The session that the call belongs to.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// When the call is given up. In a function: the earlier of what the host set and the tool's own `timeout`.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// The token that is cancelled when nobody waits for the answer any more. Of a context that nobody can
    /// cancel, each is a new one.
    pub fn cancellation(&self) -> CancellationToken {
        self.cancellation.clone().unwrap_or_default()
    }

    /// A value that the host added.
    pub fn extension<T: Send + Sync + 'static>(&self) -> Option<&T> {
        let (_, value) = self
            .extensions
            .as_deref()?
            .iter()
            .find(|(id, _)| *id == TypeId::of::<T>())?;
        value.downcast_ref()
    }

    /// The token, if there is anybody who could cancel it.
    pub(crate) fn external_token(&self) -> Option<&CancellationToken> {
        self.cancellation.as_ref()
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("session", &self.session)
            .field("deadline", &self.deadline)
            .field(
                "cancelled",
                &self.cancellation.as_ref().map(CancellationToken::is_cancelled),
            )
            .field("extensions", &self.extensions.as_ref().map_or(0, |all| all.len()))
            .finish()
    }
}

/// Says that nobody waits for the answer any more. A tool that takes one as a parameter and awaits
/// [`cancelled`](Self::cancelled) has a [grace period](Self::GRACE_PERIOD) to clean up and answer; one that does not
/// is dropped.
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
    /// How long a function that took a token or the [`Context`] may still run when its call is cancelled or past its
    /// deadline. Then it is dropped.
    ///
    /// The layers around it have twice as long, counted from the same moment: a result that is returned at the end of
    /// the grace period has as long again to pass them. A layer that waits for something else (a store, a user) gives
    /// up before that, or it is dropped with the result.
    pub const GRACE_PERIOD: Duration = Duration::from_millis(50);

    /// A token that nothing has cancelled yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels this token and all its children.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits until it is cancelled.
    pub async fn cancelled(&self) {
        self.0.cancelled().await;
    }

    /// A token that is cancelled with this one, or alone.
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

/// Tells what a call left behind that the call is over.
#[derive(Debug)]
pub(crate) struct CancelOnDrop(CancellationToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
