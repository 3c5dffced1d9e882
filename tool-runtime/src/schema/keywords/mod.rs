//! Keywords of a schema: their subschemas, pointers and references, and the private marks.

pub(crate) mod pointer;
pub(crate) mod subschemas;
pub(crate) mod marks;
pub(crate) mod reference;
