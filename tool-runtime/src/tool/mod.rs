//! Declaration that the macro generates, output of functions, and entries of a registry.

pub(crate) mod tool_error;
pub(crate) mod registry_error;
pub(crate) mod left_out;
pub(crate) mod source_names;
pub(crate) mod output;
pub(crate) mod blocking;
pub(crate) mod declaration;
pub(crate) mod tool_trait;
mod size;
pub(crate) mod entry;
