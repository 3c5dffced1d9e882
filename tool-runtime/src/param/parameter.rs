//! The types that a parameter may have, and where their values come from.
//!
//! Traits judge the types, so an alias of `Option` is optional and a `State` needs no marker.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserializer;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::host::Host;
use crate::host::context::{CancellationToken, Context};
use crate::host::state::{State, States};
use crate::schema::variants::{self, Enums};

/// A type that a parameter of a tool may have.
///
/// Implemented for what the model supplies (everything that is [`DeserializeOwned`] and [`JsonSchema`]) and for
/// what the host supplies: [`State`], [`Context`], [`CancellationToken`].
pub trait Parameter: Sized + Send + 'static {
    /// Whether the model supplies it; then it is in the definition.
    const FROM_MODEL: bool;

    /// Its schema, of a model's parameter.
    fn schema(generator: &mut SchemaGenerator) -> Schema;

    /// The enums in it, their variants in declared order, and maps whose keys its schema does not state. That stands in
    /// `root` at a JSON Pointer.
    fn variants(root: &Value, pointer: &str) -> Enums;

    /// Its value when the model sends none; `None` when it must send one.
    fn missing_value() -> Option<Self>;

    /// Reads a model's parameter.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;

    /// Gets a host's parameter.
    fn from_host(host: &Host<'_>) -> Option<Self>;

    /// The type of state that it needs and the registry does not have.
    fn missing_state(states: &States) -> Option<&'static str>;
}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + Send + 'static> Parameter for T {
    const FROM_MODEL: bool = true;

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<T>()
    }

    fn variants(root: &Value, pointer: &str) -> Enums {
        variants::of::<T>(root, pointer)
    }

    fn missing_value() -> Option<Self> {
        crate::param::missing::value()
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer)
    }

    fn from_host(_: &Host<'_>) -> Option<Self> {
        None
    }

    fn missing_state(_: &States) -> Option<&'static str> {
        None
    }
}

/// Implements [`Parameter`] for a type that the host supplies.
macro_rules! from_host {
    ([$($generics:tt)*] $type:ty, |$host:ident| $from_host:expr, |$states:ident| $missing:expr) => {
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

            fn from_host($host: &Host<'_>) -> Option<Self> {
                $from_host
            }

            fn missing_state($states: &States) -> Option<&'static str> {
                $missing
            }
        }
    };
}

from_host!(
    [T: Send + Sync + 'static] State<T>,
    |host| host.states.get::<T>(),
    |states| states.get::<T>().is_none().then(std::any::type_name::<T>)
);
from_host!([] Context, |host| Some(host.context()), |_states| None);
from_host!([] CancellationToken, |host| Some(host.token()), |_states| None);
