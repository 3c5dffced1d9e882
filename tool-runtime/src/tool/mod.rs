//! Tools: the declaration that the macro generates, the output of functions, and the entries of a registry.

pub(crate) mod tool_error;
pub(crate) mod causes;
pub(crate) mod output;
pub(crate) mod structured;
pub(crate) mod blocking;
pub(crate) mod declaration;
pub(crate) mod declared;
pub(crate) mod registry_error;
pub(crate) mod output_schema;
mod size;
pub(crate) mod entry;
pub(crate) mod table;
