//! Schemas of Rust types: [`clean`](clean::clean) makes the schemas from schemars readable for a model.

mod location;
pub(crate) mod variants;
pub(crate) mod patches;
pub(crate) mod describe;
pub(crate) mod rust_enums;
pub(crate) mod enum_maps;
pub(crate) mod example_order;
mod definitions;
pub(crate) mod field_attributes;
pub(crate) mod clean;
pub(crate) mod contradictions;
