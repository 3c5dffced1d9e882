//! [`SessionStateStore`]: storage for the values of sessions.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::host::session_values::SessionValues;

/// Keeps the values of sessions for a registry: [`ToolRegistry::with_session_store`](crate::ToolRegistry::with_session_store).
///
/// By default a registry keeps the values in memory until [`remove_session`](crate::ToolRegistry::remove_session). A
/// custom store can load values from elsewhere, or share values between sessions. A store must not block for long:
/// functions wait for it.
///
/// ```
/// use tool_runtime::{SessionStateStore, SessionValues, ToolRegistry};
///
/// /// One and the same for every session.
/// #[derive(Default)]
/// struct Everybody(SessionValues);
///
/// impl SessionStateStore for Everybody {
///     fn values(&self, _session: Option<&str>) -> SessionValues {
///         self.0.clone()
///     }
///
///     fn remove(&self, _session: Option<&str>) -> Option<SessionValues> {
///         None
///     }
/// }
///
/// let registry = ToolRegistry::new().with_session_store(Everybody::default());
/// *registry.session_values(Some("Ada")).get::<u32>().unwrap().lock() = 7;
/// assert_eq!(*registry.session_values(Some("Bo")).get::<u32>().unwrap().lock(), 7);
/// ```
pub trait SessionStateStore: Send + Sync + 'static {
    /// Returns the values of a session, or, without a session, the values of the other calls. A new session gets new
    /// values.
    fn values(&self, session: Option<&str>) -> SessionValues;

    /// Returns the values of a session if it has any, without creating a session. The default implementation returns
    /// [`values`](Self::values).
    fn get(&self, session: Option<&str>) -> Option<SessionValues> {
        Some(self.values(session))
    }

    /// Removes the values of a session that has ended, and returns them.
    fn remove(&self, session: Option<&str>) -> Option<SessionValues>;
}

/// The store of a registry; clones share it.
#[derive(Clone)]
pub(crate) struct SharedSessionStore(Arc<dyn SessionStateStore>);

impl SharedSessionStore {
    pub(crate) fn new(store: impl SessionStateStore) -> Self {
        Self(Arc::new(store))
    }

    pub(crate) fn values(&self, session: Option<&str>) -> SessionValues {
        self.0.values(session)
    }

    pub(crate) fn get(&self, session: Option<&str>) -> Option<SessionValues> {
        self.0.get(session)
    }

    pub(crate) fn remove(&self, session: Option<&str>) -> Option<SessionValues> {
        self.0.remove(session)
    }
}

impl Default for SharedSessionStore {
    fn default() -> Self {
        Self::new(MemoryStore::default())
    }
}

impl fmt::Debug for SharedSessionStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedSessionStore").finish_non_exhaustive()
    }
}

/// The default store.
#[derive(Default)]
struct MemoryStore(Mutex<Sessions>);

#[derive(Default)]
struct Sessions {
    by_id: HashMap<Box<str>, SessionValues>,
    /// Values of the calls without a session.
    unnamed: Option<SessionValues>,
}

impl MemoryStore {
    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionStateStore for MemoryStore {
    fn values(&self, session: Option<&str>) -> SessionValues {
        let mut sessions = self.lock();
        let Some(id) = session else {
            return sessions.unnamed.get_or_insert_default().clone();
        };
        if let Some(values) = sessions.by_id.get(id) {
            return values.clone();
        }
        sessions.by_id.entry(id.into()).or_default().clone()
    }

    fn get(&self, session: Option<&str>) -> Option<SessionValues> {
        let sessions = self.lock();
        match session {
            Some(id) => sessions.by_id.get(id).cloned(),
            None => sessions.unnamed.clone(),
        }
    }

    fn remove(&self, session: Option<&str>) -> Option<SessionValues> {
        let mut sessions = self.lock();
        match session {
            Some(id) => sessions.by_id.remove(id),
            None => sessions.unnamed.take(),
        }
    }
}
