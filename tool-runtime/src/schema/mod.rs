//! JSON Schemas: cleans those that schemars generates, and compiles them for the check of arguments.

pub(crate) mod pointer;
pub(crate) mod pattern;
pub(crate) mod subschemas;
pub(crate) mod marks;
pub(crate) mod reference;
mod location;
pub(crate) mod variants;
pub(crate) mod patches;
mod describe;
mod rust_enums;
pub(crate) mod enum_maps;
pub(crate) mod example_order;
mod definitions;
pub(crate) mod field_attributes;
mod clean;
pub(crate) mod contradictions;
pub(crate) mod types;
pub(crate) mod decimal;
pub(crate) mod bounds;
pub(crate) mod name;
pub(crate) mod spelling;
pub(crate) mod text_formats;
mod values;
pub(crate) mod format_description;
pub(crate) mod validation;
pub(crate) mod compiled;
mod formats;
pub(crate) mod limits;
mod check;
pub(crate) mod dialects;
mod nullable;
mod compile_validation;
mod merge;
mod compiler;
mod compile_union;
mod finalize;
mod unsatisfiable;
mod compile;

pub(crate) use check::SchemaWarning;
#[cfg(feature = "formats")]
pub(crate) use check::check;
pub(crate) use clean::clean;
pub(crate) use compiled::CompiledSchema;
pub(crate) use describe::undescribed_properties;
#[cfg(feature = "formats")]
pub(crate) use nullable::expand_nullable;
#[cfg(feature = "formats")]
pub(crate) use rust_enums::unwrap_single;
pub(crate) use text_formats::FormatPolicy;
