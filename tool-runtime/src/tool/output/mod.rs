//! Output of functions: [`IntoToolOutput`](convert::IntoToolOutput) makes the answer of the return value.

pub(crate) mod causes;
pub(crate) mod convert;
pub(crate) mod structured;
pub(crate) mod schema;
