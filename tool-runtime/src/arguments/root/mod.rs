//! Root of the arguments: an object, which a model may have wrapped in an envelope.

pub(crate) mod object;
pub(crate) mod wrapped;
