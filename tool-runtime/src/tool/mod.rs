//! A tool: what the macro writes for a function, what the function returns, and its entry in a registry.

pub(crate) mod causes;
pub(crate) mod output;
pub(crate) mod declaration;
pub(crate) mod declared;
pub(crate) mod registry_error;
pub(crate) mod entry;
pub(crate) mod table;
