//! The program with MCP servers, which are scripted: `peer.rs` of the tests of `tool-mcp`.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::format_collect,
    clippy::needless_pass_by_value,
    reason = "a test, in all of its functions"
)]

#[path = "../../../tool-cli/tests/command/program.rs"]
#[allow(dead_code, reason = "the other suites use all of it")]
mod program;
#[path = "../../../tool-mcp/tests/client/peer.rs"]
#[allow(dead_code, unreachable_pub, reason = "the other suite uses all of it")]
mod peer;
#[cfg(feature = "redis")]
#[path = "../../../tests/support/redis_server.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    clippy::format_push_string,
    reason = "shared with other suites"
)]
mod redis_server;
#[path = "../../../tests/support/fault_row.rs"]
#[allow(
    unreachable_pub,
    dead_code,
    reason = "the other suites have it from a library"
)]
mod fault_row;
#[path = "../../../tests/support/tests_of.rs"]
#[allow(unreachable_pub, reason = "the other suites have it from a library")]
mod tests_of;
#[path = "../shared/served_program.rs"]
#[allow(dead_code, reason = "the other suite uses all of it")]
mod served_program;
mod upstream;
mod gateway;
mod turns;
mod generations;
mod scopes;
mod metrics;
mod hints;
mod settings;
mod url;
mod commands;
mod fault_rows;
mod faults;
mod sdk;
mod served;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tool-gateway");
