//! A parameter of a tool: what it is called and what its attributes say.

use std::fmt;

use serde_json::Value;

use crate::facets::Facets;
use crate::parameter::{FromHost, Parameter, Shown};

/// One parameter, as the macro writes it down: a line of `PARAMS`.
pub struct Param<T: Parameter> {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) default: Option<DefaultValue<T>>,
    pub(crate) refine: Option<fn(Facets<T>) -> Facets<T>>,
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
        T: Shown,
    {
        self.default = Some(DefaultValue {
            make,
            show: |value| serde_json::to_value(value),
        });
        self
    }

    /// What the attributes say beyond the type: `range`, `length`, `pattern` …
    #[must_use]
    pub const fn refine(mut self, refine: fn(Facets<T>) -> Facets<T>) -> Self {
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
