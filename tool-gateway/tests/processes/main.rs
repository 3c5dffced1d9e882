//! Several gateway processes over one Redis, which the tests start.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test, in all of its functions"
)]

#[path = "../shared/served_program.rs"]
#[allow(dead_code, reason = "the other suite uses all of it")]
mod served_program;
mod http;
mod upstream;
mod gateway_process;
mod cluster;
mod conversation;
mod requests;
mod signals;
mod program;
mod load_balancer;
mod rolling;
mod tls;
mod speed;
mod sizes;

#[path = "../../../tests/support/redis_server.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    clippy::format_push_string,
    reason = "shared with other suites"
)]
mod redis_server;
