//! What passes between a model, a host and this crate: definitions, arguments, results, and the record of what was wrong.

pub mod issue;
pub mod message;
pub mod result;
pub(crate) mod depth;
pub(crate) mod raw_arguments;
pub mod definition;
