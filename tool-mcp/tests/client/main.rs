//! The client, with servers that this program runs as other processes (`peer.rs`), and servers over HTTP (`http_peer.rs`).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test, in all of its functions"
)]

#[path = "../../../tests/faults/telemetry.rs"]
#[allow(unreachable_pub, dead_code, reason = "the other suite uses all of it")]
mod telemetry;
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
mod peer;
mod support;
mod basics;
mod processes;
mod revisions;
mod lists;
mod calls;
mod hostile;
mod fault_rows;
mod faults;
mod http_peer;
mod http_revisions;
mod http_calls;
mod http_faults;
mod threads;
#[path = "../shared/installed.rs"]
#[allow(dead_code, reason = "the other suite uses all of it")]
mod installed;
#[path = "../shared/conformance_suite.rs"]
mod conformance_suite;
mod real_servers;
mod real_http_servers;
mod conformance;
