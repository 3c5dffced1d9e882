//! The server: a registry that this program serves as another process, to clients that send bytes and to clients that others wrote.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    clippy::print_stdout,
    clippy::too_many_lines,
    reason = "a test, in all of its functions"
)]

#[path = "../../../tests/faults/telemetry.rs"]
#[allow(unreachable_pub, dead_code, reason = "the other suite uses all of it")]
mod telemetry;
#[path = "../../../tests/support/tests_of.rs"]
#[allow(unreachable_pub, reason = "the other suites have it from a library")]
mod tests_of;
#[path = "../../../tests/support/fault_row.rs"]
#[allow(
    unreachable_pub,
    dead_code,
    reason = "the other suites have it from a library"
)]
mod fault_row;
mod served;
mod process;
mod basics;
mod stdio;
mod http;
mod fault_rows;
mod faults;
#[path = "../shared/installed.rs"]
#[allow(dead_code, reason = "the other suite uses all of it")]
mod installed;
#[path = "../shared/conformance_suite.rs"]
mod conformance_suite;
mod sdk_clients;
mod other_clients;
mod conformance;
