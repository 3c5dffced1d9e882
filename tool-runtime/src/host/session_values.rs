//! [`SessionValues`]: all values of one session, and their form as JSON.

use std::any::{Any, type_name};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::host::session_state::SessionState;

/// The values of one session, which tools take as [`SessionState<T>`]. Clones share them.
///
/// The JSON form is an object with the path of each type ([`std::any::type_name`]) as the key. A type that is renamed
/// or moved therefore starts from its default. Values whose type this process does not use are kept, and serialized
/// unchanged.
///
/// ```
/// use tool_runtime::serde::{Deserialize, Serialize};
/// use tool_runtime::serde_json::json;
/// use tool_runtime::{Context, SessionState, SessionValues, ToolCall, ToolRegistry, tool};
///
/// #[derive(Default, Serialize, Deserialize)]
/// # #[serde(crate = "tool_runtime::serde")]
/// struct Rings(u32);
///
/// /// Ring the bell.
/// #[tool]
/// async fn ring(rings: SessionState<Rings>) -> u32 {
///     rings.lock().0 += 1;
///     rings.lock().0
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut registry = ToolRegistry::new();
/// registry.register::<ring>()?;
///
/// // A host that stores sessions itself passes the values to each call, and stores them afterwards.
/// let values = SessionValues::new();
/// let call = ToolCall::new("toolu_01", "ring", "{}")
///     .with_context(Context::new().with_session_values(values.clone()));
/// assert_eq!(registry.call(call).await.result.text(), Some("1"));
/// let stored = values.to_json()?;
///
/// let values = SessionValues::from_json(stored);
/// let call = ToolCall::new("toolu_02", "ring", "{}")
///     .with_context(Context::new().with_session_values(values.clone()));
/// assert_eq!(registry.call(call).await.result.text(), Some("2"));
/// assert_eq!(values.get::<Rings>()?.lock().0, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct SessionValues(Arc<Mutex<Entries>>);

/// Entries by the path of their type.
type Entries = BTreeMap<Cow<'static, str>, Entry>;

#[derive(Clone)]
enum Entry {
    /// The stored JSON of a value that no call has used yet.
    Stored(Value),
    Typed(Arc<dyn TypedValue>),
}

impl SessionValues {
    /// Creates the values of a new session: each starts from its default.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates the values from the JSON of [`to_json`](Self::to_json). Each value is deserialized when a tool first
    /// uses it.
    pub fn from_json(values: Map<String, Value>) -> Self {
        let entries = values
            .into_iter()
            .map(|(name, value)| (Cow::Owned(name), Entry::Stored(value)));
        Self(Arc::new(Mutex::new(entries.collect())))
    }

    /// Returns the values as JSON.
    ///
    /// # Errors
    ///
    /// Returns an error if a value cannot be serialized.
    pub fn to_json(&self) -> Result<Map<String, Value>, SessionValueError> {
        // The value is serialized without the lock: a function may hold a value while it requests another value.
        let entries = self.entries().clone();
        let write = |(name, entry): (Cow<'static, str>, Entry)| match entry {
            Entry::Stored(value) => Ok((name.into_owned(), value)),
            Entry::Typed(value) => Ok((name.into_owned(), value.to_json()?)),
        };
        entries.into_iter().map(write).collect()
    }

    /// Returns the value of a type: the stored value, or the default.
    ///
    /// # Errors
    ///
    /// Returns an error if the stored value cannot be deserialized as the type. The stored value is kept.
    pub fn get<T>(&self) -> Result<SessionState<T>, SessionValueError>
    where
        T: Default + Serialize + DeserializeOwned + Send + 'static,
    {
        let mut entries = self.entries();
        let value = match entries.get(type_name::<T>()) {
            Some(Entry::Typed(value)) => {
                let value: Arc<dyn Any + Send + Sync> = Arc::<dyn TypedValue>::clone(value);
                let value = value.downcast().map_err(|_| SessionValueError::AmbiguousName {
                    type_name: type_name::<T>(),
                })?;
                return Ok(SessionState::from_shared(value));
            }
            Some(Entry::Stored(value)) => {
                T::deserialize(value).map_err(|error| SessionValueError::Invalid {
                    type_name: type_name::<T>(),
                    error,
                })?
            }
            None => T::default(),
        };
        let value = Arc::new(Mutex::new(value));
        entries.insert(
            Cow::Borrowed(type_name::<T>()),
            Entry::Typed(Arc::<Mutex<T>>::clone(&value)),
        );
        Ok(SessionState::from_shared(value))
    }

    /// Returns whether there is a value of a type, stored or in use. Unlike [`get`](Self::get), this does not add a
    /// default.
    ///
    /// ```
    /// use tool_runtime::SessionValues;
    ///
    /// let values = SessionValues::new();
    /// assert!(!values.contains::<u32>());
    /// values.get::<u32>().unwrap();
    /// assert!(values.contains::<u32>());
    /// ```
    pub fn contains<T: 'static>(&self) -> bool {
        self.entries().contains_key(type_name::<T>())
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        // A panic in `Default` or `Deserialize` leaves the entries unchanged.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SessionValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.entries().keys()).finish()
    }
}

/// A type-erased value.
trait TypedValue: Any + Send + Sync {
    fn to_json(&self) -> Result<Value, SessionValueError>;
}

impl<T: Serialize + Send + 'static> TypedValue for Mutex<T> {
    fn to_json(&self) -> Result<Value, SessionValueError> {
        let value = self.lock().unwrap_or_else(PoisonError::into_inner);
        serde_json::to_value(&*value).map_err(|error| SessionValueError::NotSerializable {
            type_name: type_name::<T>(),
            error,
        })
    }
}

/// The reason why a value of a session cannot be read or written.
///
/// ```
/// use tool_runtime::SessionValues;
/// use tool_runtime::serde_json::{Map, json};
///
/// let stored = Map::from_iter([("u8".to_owned(), json!(300))]);
/// let error = SessionValues::from_json(stored).get::<u8>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "the stored session state of type `u8` cannot be read: invalid value: integer `300`, expected u8; \
///      a field that is new needs `#[serde(default)]`, and a type that was changed otherwise another name",
/// );
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum SessionValueError {
    /// The stored value cannot be deserialized as the type.
    Invalid {
        /// Path of the type.
        type_name: &'static str,
        /// The error of serde.
        error: serde_json::Error,
    },
    /// The value cannot be serialized.
    NotSerializable {
        /// Path of the type.
        type_name: &'static str,
        /// The error of serde.
        error: serde_json::Error,
    },
    /// Two types with the same path are in use, for instance of two versions of a crate.
    AmbiguousName {
        /// Path of both types.
        type_name: &'static str,
    },
}

impl fmt::Display for SessionValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid { type_name, error } => write!(
                f,
                "the stored session state of type `{type_name}` cannot be read: {error}; \
                 a field that is new needs `#[serde(default)]`, and a type that was changed otherwise another name"
            ),
            Self::NotSerializable { type_name, error } => write!(
                f,
                "the session state of type `{type_name}` cannot be written as JSON: {error}; \
                 the keys of maps are strings or integers, and integers have at most 64 bits"
            ),
            Self::AmbiguousName { type_name } => write!(
                f,
                "two types named `{type_name}` are used as session state; give one of them another name"
            ),
        }
    }
}

impl std::error::Error for SessionValueError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Invalid { error, .. } | Self::NotSerializable { error, .. } => Some(error),
            Self::AmbiguousName { .. } => None,
        }
    }
}
