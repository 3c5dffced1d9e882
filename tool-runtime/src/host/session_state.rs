//! [`SessionState`]: a value of a session that tools share.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// A value of the call's session, which the tools of the session share: for example a task list or a shopping basket.
///
/// The host supplies a parameter of this type; the definition does not contain it. Each session has its own value of
/// a type, which starts from `T::default()`; all calls without a session share one value. The host chooses where
/// values are kept: in the registry by default, in its own [`SessionStateStore`](crate::SessionStateStore), or with
/// each call in [`Context::with_session_values`](crate::Context::with_session_values). The gateway stores the values
/// with each turn.
///
/// `T` is `Default + Serialize + DeserializeOwned + Send`. Give each state its own type: two tools that take the same type
/// share its value.
///
/// ```
/// use tool_runtime::serde::{Deserialize, Serialize};
/// use tool_runtime::{SessionState, tool};
///
/// /// Number of times the bell was rung.
/// #[derive(Default, Serialize, Deserialize)]
/// # #[serde(crate = "tool_runtime::serde")]
/// struct Rings(u32);
///
/// /// Ring the bell.
/// #[tool]
/// async fn ring(rings: SessionState<Rings>) -> u32 {
///     let mut rings = rings.lock();
///     rings.0 += 1;
///     rings.0
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// // By hand, as in a test.
/// let rings = SessionState::new(Rings(2));
/// assert_eq!(ring(rings.clone()).await, 3);
/// assert_eq!(rings.lock().0, 3);
/// # }
/// ```
pub struct SessionState<T>(Arc<Mutex<T>>);

impl<T> SessionState<T> {
    /// Wraps a value, so that an annotated function can be called directly.
    pub fn new(value: T) -> Self {
        Self(Arc::new(Mutex::new(value)))
    }

    /// Waits for the other calls that use the value, and locks it until the guard is dropped.
    ///
    /// The guard is not `Send`: a tool that holds it across an `.await` does not compile, so a call never holds the
    /// lock while it waits for another call. A panic does not poison the lock, and the value keeps partial changes:
    /// assign related fields in one statement.
    pub fn lock(&self) -> SessionStateGuard<'_, T> {
        SessionStateGuard(self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn from_shared(value: Arc<Mutex<T>>) -> Self {
        Self(value)
    }
}

impl<T> Clone for SessionState<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Default> Default for SessionState<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: fmt::Debug> fmt::Debug for SessionState<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tuple = f.debug_tuple("SessionState");
        match self.0.try_lock() {
            Ok(value) => tuple.field(&&*value),
            Err(TryLockError::Poisoned(error)) => tuple.field(&&*error.into_inner()),
            Err(TryLockError::WouldBlock) => tuple.field(&format_args!("<locked>")),
        };
        tuple.finish()
    }
}

/// A locked [`SessionState`]; dereferences to its value, and unlocks it when dropped. See [`SessionState::lock`].
///
/// ```compile_fail
/// use tool_runtime::{SessionState, tool};
///
/// /// Count, and wait with the lock held.
/// #[tool]
/// async fn count(count: SessionState<u32>) {
///     let mut count = count.lock();
///     *count += 1;
///     tokio::task::yield_now().await; // `count` is still locked: an error
/// }
/// ```
pub struct SessionStateGuard<'a, T>(MutexGuard<'a, T>);

impl<T> Deref for SessionStateGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for SessionStateGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: fmt::Debug> fmt::Debug for SessionStateGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SessionStateGuard").field(&&**self).finish()
    }
}
