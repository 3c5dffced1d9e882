//! The program as its users meet it: what goes in, what comes out of which stream, and the exit status.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::format_collect,
    reason = "a test"
)]

#[path = "../../../tool-cli/tests/command/program.rs"]
mod program;
mod usage;
#[path = "../../../tool-cli/tests/command/readme.rs"]
mod readme;
mod configuration;
mod serve;
mod example;
#[cfg(all(unix, feature = "otlp"))]
mod traces;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tool-gateway");

/// Commands that the README shows at least.
const README_COMMANDS: usize = 3;
