//! The program as its users meet it: what goes in, what comes out of which stream, and the exit status.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::format_collect,
    reason = "a test"
)]

mod program;
mod usage;
mod text;
mod explain;
mod lines;
mod stream;
mod check;
mod whatever;
mod terminal;
mod readme;
mod configuration;
mod serve;
mod example;
#[cfg(all(unix, feature = "otlp"))]
mod traces;
