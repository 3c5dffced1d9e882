//! Compiled schemas: arguments are validated against a [`CompiledSchema`].

pub(crate) mod types;
pub(crate) mod pattern;
pub(crate) mod decimal;
pub(crate) mod bounds;
pub(crate) mod name;
pub(crate) mod spelling;
pub(crate) mod values;
pub(crate) mod format_description;
pub(crate) mod validation;
mod schema;
mod formats;

pub(crate) use schema::*;
