//! A local server that refuses what the APIs refuse: unknown fields in messages, calls without results, results that are not
//! first. It answers with streams that were written beforehand.

#![allow(clippy::unwrap_used, reason = "a tool of tests")]

mod fields;
mod open_calls;
mod messages;
mod chat;
mod responses;
mod server;
pub mod http;

pub use server::{REASONING, StrictServer, check};
