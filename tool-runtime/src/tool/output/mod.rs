//! Output of functions: [`IntoToolOutput`](convert::IntoToolOutput) converts return values.

pub(crate) mod causes;
pub(crate) mod convert;
pub(crate) mod structured;
pub(crate) mod schema;
