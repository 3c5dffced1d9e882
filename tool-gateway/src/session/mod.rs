//! Sessions: which conversation a request belongs to, and what the model really saw of it.

pub(crate) mod canonical;
pub(crate) mod chain;
pub mod record;
pub mod store;
pub mod memory;
pub(crate) mod recognize;
#[cfg(test)]
mod tests;

pub use chain::Digest;
