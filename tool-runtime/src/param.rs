//! A parameter of a tool: what it is called, who supplies it, how it is read.
//!
//! Traits judge the types, so an alias of `Option` is optional and a `State` needs no marker.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserializer, Serialize};
use serde_json::Value;

use crate::context::{CancellationToken, Context};
use crate::facets::Facets;
use crate::host::Host;
use crate::state::{State, States};

/// A type that a parameter of a tool may have.
///
/// Implemented for what the model supplies (everything that is [`DeserializeOwned`] and [`JsonSchema`]) and for
/// what the host supplies: [`State`], [`Context`], [`CancellationToken`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a tool",
    label = "neither the model nor the host can supply this",
    note = "for a value that the model supplies, derive `tool_runtime::serde::Deserialize` and `tool_runtime::schemars::JsonSchema`",
    note = "for a value that the host supplies, write `State<{Self}>` and give the registry one: `.with_state(..)`"
)]
pub trait Parameter: Sized + Send + 'static {
    /// Whether the model supplies it; then it is in the definition.
    const FROM_MODEL: bool;

    /// Its schema, of a model's parameter.
    fn schema(generator: &mut SchemaGenerator) -> Schema;

    /// Its value when the model sends none; `None` when it must send one.
    fn absent() -> Option<Self>;

    /// Reads a model's parameter.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;

    /// Gets a host's parameter.
    fn supply(host: &Host<'_>) -> Option<Self>;

    /// The type of state that it needs and the registry does not have.
    fn missing_state(states: &States) -> Option<&'static str>;
}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + Send + 'static> Parameter for T {
    const FROM_MODEL: bool = true;

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<T>()
    }

    fn absent() -> Option<Self> {
        crate::absent::value()
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer)
    }

    fn supply(_: &Host<'_>) -> Option<Self> {
        None
    }

    fn missing_state(_: &States) -> Option<&'static str> {
        None
    }
}

/// What the host supplies needs no description: the model never hears of it.
#[diagnostic::on_unimplemented(
    message = "this parameter has no description",
    label = "the model relies on it: say what to send",
    note = "write a doc comment (`/// ..`) above the parameter, or `#[arg(description = \"..\")]`"
)]
pub trait FromHost: Parameter {}

/// Implements [`Parameter`] for a type that the host supplies.
macro_rules! from_host {
    ([$($generics:tt)*] $type:ty, |$host:ident| $supply:expr, |$states:ident| $missing:expr) => {
        impl<$($generics)*> Parameter for $type {
            const FROM_MODEL: bool = false;

            fn schema(_: &mut SchemaGenerator) -> Schema {
                Schema::default()
            }

            fn absent() -> Option<Self> {
                None
            }

            fn read<'de, D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
                Err(serde::de::Error::custom("the host supplies this, not the model"))
            }

            fn supply($host: &Host<'_>) -> Option<Self> {
                $supply
            }

            fn missing_state($states: &States) -> Option<&'static str> {
                $missing
            }
        }

        impl<$($generics)*> FromHost for $type {}
    };
}

from_host!(
    [T: Send + Sync + 'static] State<T>,
    |host| host.states.get::<T>(),
    |states| states.get::<T>().is_none().then(std::any::type_name::<T>)
);
from_host!([] Context, |host| Some(host.context()), |_states| None);
from_host!([] CancellationToken, |host| Some(host.token()), |_states| None);

/// One parameter, as the macro writes it down: a line of `PARAMS`.
pub struct Param<T: Parameter> {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) default: Option<DefaultValue<T>>,
    pub(crate) refine: Option<fn(&mut Facets<T>)>,
}

pub(crate) struct DefaultValue<T> {
    pub(crate) make: fn() -> T,
    pub(crate) show: fn(&T) -> Result<Value, serde_json::Error>,
}

impl<T: Parameter> Param<T> {
    /// A parameter with its description.
    pub const fn of(name: &'static str, description: &'static str) -> Self {
        Self {
            name,
            description,
            default: None,
            refine: None,
        }
    }

    /// A parameter without a description: the host's.
    pub const fn undescribed(name: &'static str) -> Self
    where
        T: FromHost,
    {
        Self::of(name, "")
    }

    /// What to use where the model sends nothing. Made anew for each call; checked once, at registration.
    #[must_use]
    pub const fn default(mut self, make: fn() -> T) -> Self
    where
        T: Serialize,
    {
        self.default = Some(DefaultValue {
            make,
            show: |value| serde_json::to_value(value),
        });
        self
    }

    /// What the attributes say beyond the type: `range`, `length`, `pattern` …
    #[must_use]
    pub const fn refine(mut self, refine: fn(&mut Facets<T>)) -> Self {
        self.refine = Some(refine);
        self
    }

    /// Its value when the model sent none.
    pub(crate) fn absent(&self) -> Option<T> {
        match &self.default {
            Some(default) => Some((default.make)()),
            None => T::absent(),
        }
    }
}

impl<T: Parameter> fmt::Debug for Param<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Param")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// From what is written in `default = ..` to the parameter's type. (`Into` would not do: `100.into()` is no `u32`.)
#[diagnostic::on_unimplemented(
    message = "a default of type `{Self}` does not fit a parameter of type `{T}`",
    label = "expected `{T}`"
)]
pub trait IntoDefault<T> {
    /// Converts.
    fn into_default(self) -> T;
}

impl<T> IntoDefault<T> for T {
    fn into_default(self) -> T {
        self
    }
}

impl IntoDefault<String> for &str {
    fn into_default(self) -> String {
        self.to_owned()
    }
}

impl<T> IntoDefault<Option<T>> for T {
    fn into_default(self) -> Option<T> {
        Some(self)
    }
}

impl IntoDefault<Option<String>> for &str {
    fn into_default(self) -> Option<String> {
        Some(self.to_owned())
    }
}
