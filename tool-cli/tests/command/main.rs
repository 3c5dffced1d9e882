//! Tests of the program: input, both output streams, and exit status.

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
mod calls;
mod random_input;
mod terminal;
mod readme;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tool-cli");

/// Minimum number of commands in the README.
const README_COMMANDS: usize = 8;
