//! The parameters of a function: where each comes from, what its attributes add, and how all of them are read together.

pub(crate) mod missing;
pub(crate) mod declared;
pub(crate) mod parameter;
pub(crate) mod source;
pub(crate) mod into_param;
pub(crate) mod constraints;
pub(crate) mod string;
pub(crate) mod params;
