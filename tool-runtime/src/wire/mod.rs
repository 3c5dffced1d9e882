//! The data that models, hosts and this crate exchange: definitions, arguments, results, issues.

pub(crate) mod blake3;
pub mod issue;
pub mod message;
pub mod result;
pub(crate) mod depth;
pub(crate) mod raw_arguments;
pub mod definition;
