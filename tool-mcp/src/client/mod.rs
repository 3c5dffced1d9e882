//! Client of a server over stdio: one actor for each server, which starts, lists, restarts and stops its process.

pub(crate) mod error;
pub(crate) mod settings;
mod process;
mod wire;
mod connection;
mod list;
mod call;
mod backoff;
mod actor;
pub(crate) mod command;
pub(crate) mod mcp_client;
#[cfg(test)]
mod tests;
