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

mod served;
mod process;
mod basics;
mod stdio;
mod http;
mod sdk_clients;
mod conformance;
