//! Client of a server over stdio or HTTP: one actor for each server, which connects, lists, connects again, and stops its process.

pub(crate) mod error;
#[cfg(feature = "http")]
pub(crate) mod http_service;
#[cfg(feature = "http")]
mod url_settings;
pub(crate) mod hooks;
pub(crate) mod settings;
mod process;
mod outgoing;
mod pipe_reader;
mod wire;
mod connection;
mod list;
mod call;
mod backoff;
#[cfg(feature = "http")]
mod streamable_http;
mod backend;
mod actor;
mod setters;
pub(crate) mod command;
#[cfg(feature = "http")]
pub(crate) mod url;
pub(crate) mod mcp_client;
#[cfg(test)]
mod tests;
