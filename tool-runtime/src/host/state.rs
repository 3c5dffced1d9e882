//! [`State`]: values that the host shares with tools.

use std::any::{Any, TypeId, type_name};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::host::session_store::SharedSessionStore;

/// A value that the host shares with tools. A parameter `store: State<Store>` gets the value from
/// [`ToolRegistry::with_state`](crate::ToolRegistry::with_state). The definition does not contain the parameter.
///
/// Dereferences to `T`, and is cheap to clone without `T: Clone`. [`State::new`] wraps a value for a direct call of
/// an annotated function.
///
/// ```
/// use std::sync::Mutex;
/// use tool_runtime::State;
///
/// let names = State::new(Mutex::new(vec!["Ada"]));
/// let same = names.clone();
/// same.lock().unwrap().push("Grace");
/// assert_eq!(names.lock().unwrap().len(), 2);
/// ```
pub struct State<T: ?Sized>(Arc<T>);

impl<T> State<T> {
    /// Wraps a value.
    pub fn new(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T: ?Sized> From<Arc<T>> for State<T> {
    fn from(value: Arc<T>) -> Self {
        Self(value)
    }
}

impl<T: ?Sized> Clone for State<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: ?Sized> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Default> Default for State<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for State<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("State").field(&&**self).finish()
    }
}

/// The values of a registry, by type, and the values of its sessions.
#[doc(hidden)] // has no public constructor
#[derive(Clone, Default)]
pub struct States {
    values: Vec<(TypeId, &'static str, Arc<dyn Any + Send + Sync>)>,
    pub(crate) sessions: SharedSessionStore,
}

impl States {
    pub(crate) fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        self.values.retain(|(id, ..)| *id != TypeId::of::<T>());
        self.values
            .push((TypeId::of::<T>(), type_name::<T>(), Arc::new(State::new(value))));
    }

    pub(crate) fn get<T: Send + Sync + 'static>(&self) -> Option<State<T>> {
        let (.., value) = self.values.iter().find(|(id, ..)| *id == TypeId::of::<T>())?;
        value.downcast_ref::<State<T>>().cloned()
    }

    /// Returns a type that contains the `wanted` type, or that the `wanted` type contains.
    pub(crate) fn similar(&self, wanted: &str) -> Option<&'static str> {
        let mut names = self.values.iter().map(|(_, name, _)| *name);
        names.find(|name| has_argument(name, wanted) || has_argument(wanted, name))
    }
}

/// Returns whether a type name has another type among its generic arguments: `alloc::sync::Arc<app::Db>` has
/// `app::Db`.
fn has_argument(name: &str, argument: &str) -> bool {
    let mut found = name.match_indices(argument);
    found.any(|(start, _)| {
        let before = name.get(..start).unwrap_or_default();
        let after = name.get(start + argument.len()..).unwrap_or_default();
        before.ends_with(['<', ' ']) && after.starts_with(['>', ','])
    })
}

impl fmt::Debug for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.values.iter().map(|(_, name, _)| name))
            .finish()
    }
}
