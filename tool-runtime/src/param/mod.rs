//! The parameters of a function: sources, constraints from attributes, and reading of values.

pub(crate) mod patch;
pub(crate) mod not_blank;
pub(crate) mod missing;
pub(crate) mod declared;
pub(crate) mod parameter;
pub(crate) mod source;
pub(crate) mod into_param;
pub(crate) mod constraints;
pub(crate) mod string;
pub(crate) mod params;
