//! The program as its users meet it: input, output on both streams, and exit status.

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

const PROGRAM: &str = env!("CARGO_BIN_EXE_tool-cli");

/// Commands that the README shows at least.
const README_COMMANDS: usize = 8;
