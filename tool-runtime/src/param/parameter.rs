//! [`Parameter`]: the types of parameters, and the sources of their values.
//!
//! Traits distinguish the types, so an alias of `Option` is optional and a `State` needs no marker.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserializer, Serialize};
use serde_json::Value;

use crate::host::context::{CancellationToken, Context};
use crate::host::extension::Extension;
use crate::host::progress::Progress;
use crate::host::session_state::SessionState;
use crate::host::state::{State, States};
use crate::host::{Host, HostError};
use crate::schema::generate::enum_maps;
use crate::schema::generate::variants::{self, Enums};

/// A valid type for a parameter of a tool.
///
/// Implemented for types that the model supplies (everything that is [`DeserializeOwned`] and [`JsonSchema`]) and for
/// types that the host supplies: [`State`], [`SessionState`], [`Extension`], [`Progress`], [`Context`],
/// [`CancellationToken`].
pub trait Parameter: Sized + Send + 'static {
    /// Whether the model supplies the parameter, which is then in the definition.
    const FROM_MODEL: bool;

    /// Whether the parameter is a [`SessionState`], so that calls of a session depend on each other.
    const IS_SESSION_STATE: bool = false;

    /// Returns the schema, if the model supplies the parameter.
    fn schema(generator: &mut SchemaGenerator) -> Schema;

    /// Returns the enums in the type, with their variants in declared order, and maps whose keys the schema does not
    /// describe. The schema of the type is in `root` at a JSON Pointer.
    fn variants(root: &Value, pointer: &str) -> Enums;

    /// Returns the value of a missing argument; `None` if the parameter is required.
    fn missing_value() -> Option<Self>;

    /// Deserializes the value, if the model supplies the parameter.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;

    /// Returns the host's value, if the host supplies the parameter.
    fn host_value(host: &Host<'_>) -> Option<Result<Self, HostError>>;

    /// Returns the state type of the parameter if the registry does not have such a state.
    fn missing_state(_: &States) -> Option<&'static str> {
        None
    }
}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + Send + 'static> Parameter for T {
    const FROM_MODEL: bool = true;

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<T>()
    }

    fn variants(root: &Value, pointer: &str) -> Enums {
        let mut enums = variants::find::<T>(root, pointer);
        enums.buffered = enum_maps::find::<T>(root, pointer);
        enums
    }

    fn missing_value() -> Option<Self> {
        crate::param::missing::value()
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer)
    }

    fn host_value(_: &Host<'_>) -> Option<Result<Self, HostError>> {
        None
    }
}

/// Implements [`Parameter`] for a type that the host supplies.
macro_rules! from_host {
    ([$($generics:tt)*] $type:ty, |$host:ident| $host_value:expr $(, $item:item)*) => {
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> Parameter for $type {
            const FROM_MODEL: bool = false;

            fn schema(_: &mut SchemaGenerator) -> Schema {
                Schema::default()
            }

            fn variants(_: &Value, _: &str) -> Enums {
                Enums::default()
            }

            fn missing_value() -> Option<Self> {
                None
            }

            fn read<'de, D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
                Err(serde::de::Error::custom("the host supplies this, not the model"))
            }

            fn host_value($host: &Host<'_>) -> Option<Result<Self, HostError>> {
                Some($host_value)
            }

            $($item)*
        }
    };
}

from_host!(
    [T: Send + Sync + 'static] State<T>,
    |host| host.state(),
    fn missing_state(states: &States) -> Option<&'static str> {
        states.get::<T>().is_none().then(std::any::type_name::<T>)
    }
);
from_host!(
    [T: Default + Serialize + DeserializeOwned + Send + 'static] SessionState<T>,
    |host| host.session_state(),
    const IS_SESSION_STATE: bool = true;
);
from_host!([T: Clone + Send + Sync + 'static] Extension<T>, |host| host.extension());
from_host!([] Progress, |host| Ok(host.progress()));
from_host!([] Context, |host| Ok(host.context()));
from_host!([] CancellationToken, |host| Ok(host.token()));
