//! Tests of the program: input, both output streams, and exit status.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::format_collect,
    reason = "a test"
)]

#[path = "../../../tool-cli/tests/command/program.rs"]
mod program;
mod http;
mod serving;
mod usage;
#[path = "../../../tool-cli/tests/command/readme.rs"]
mod readme;
mod configuration;
mod serve;
mod workspace;
#[cfg(target_os = "linux")]
mod commands;
#[cfg(unix)]
mod network;
#[cfg(target_os = "linux")]
mod resident_memory;
mod example;
#[cfg(all(unix, feature = "otlp"))]
mod traces;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tool-gateway");

/// Minimum number of commands in the README.
const README_COMMANDS: usize = 3;
