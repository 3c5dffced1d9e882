//! Server over standard input and output.

mod pipes;
mod threads;
mod connection;
pub(crate) mod serve;
