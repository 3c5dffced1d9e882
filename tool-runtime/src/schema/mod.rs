//! JSON Schemas: cleaning of generated schemas, and compilation for validating arguments.

pub(crate) mod keywords;
pub(crate) mod generate;
pub(crate) mod text_formats;
pub(crate) mod compiled;
pub(crate) mod flat;
pub(crate) mod check;
pub(crate) mod dialects;
mod compile;

pub(crate) use check::SchemaWarning;
#[cfg(feature = "formats")]
pub(crate) use check::check;
#[cfg(feature = "formats")]
pub(crate) use compile::nullable::expand_nullable;
pub(crate) use compiled::CompiledSchema;
pub(crate) use generate::clean::clean;
pub(crate) use generate::describe::undescribed_properties;
#[cfg(feature = "formats")]
pub(crate) use generate::rust_enums::unwrap_single;
pub(crate) use text_formats::FormatPolicy;
