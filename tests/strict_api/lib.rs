//! A local server that rejects the requests which the APIs reject: unknown fields in messages, calls without results, results after other
//! blocks. The server answers with streams from a script.

#![allow(clippy::unwrap_used, reason = "a tool of tests")]

mod fields;
mod open_calls;
mod messages;
mod chat;
mod responses;
mod server;
pub mod http;

pub use server::{REASONING, StrictServer, check};
