//! The gateway between a client and a scripted upstream, with the views of both.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "a test"
)]
#![allow(clippy::duplicate_mod, reason = "tests that run before two servers")]

#[path = "../../../tests/support/clock.rs"]
#[allow(unreachable_pub, reason = "the other suites have it from a library")]
mod clock;
#[path = "../../../tests/support/subscriber.rs"]
#[allow(unreachable_pub, reason = "the other suites have it from a library")]
mod subscriber;
mod test_script;
mod protocol;
#[cfg(all(unix, feature = "redis"))]
#[path = "../../../tests/support/redis_server.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    clippy::format_push_string,
    reason = "shared with other suites"
)]
mod redis_server;
#[cfg(all(unix, feature = "redis"))]
mod gateway_processes;
mod lab;
mod events;
mod reply;
mod raw;
mod turns;
mod transcript;
mod message_ends;
mod hidden_rounds;
mod upstream_errors;
mod odd_bytes;
mod refused_thinking;
mod retries;
mod sessions;
mod session_state;
mod pass_through;
mod translated;
mod openai;
mod openai_arguments;
mod openai_thinking;
mod text_calls;
mod openai_requests;
mod openai_eager;
mod repairing;
mod failing_store;
mod shared_store;
mod errors;
mod admission;
mod account;
mod stores;
mod syncs;
mod instances;
mod offload;
mod workspace;
mod interruptions;
mod crashes;
mod chat_completions;
mod two_gateways;
#[cfg(all(unix, feature = "redis"))]
mod two_processes;
#[cfg(target_os = "linux")]
#[path = "../../../tests/faults/own_process.rs"]
mod own_process;
#[path = "../../../tests/support/fault_row.rs"]
#[allow(
    unreachable_pub,
    dead_code,
    reason = "the other suites have it from a library"
)]
mod fault_row;
mod fault_rows;
mod faults;
mod upstream_faults;
mod chat_faults;
mod limit_faults;
mod request_faults;
mod client_faults;
mod store_faults;
mod instance_faults;
#[cfg(all(unix, feature = "redis"))]
#[path = "../../../tests/support/redis_proxy.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with other suites")]
mod redis_proxy;
#[cfg(all(unix, feature = "redis"))]
mod redis_faults;
#[cfg(all(unix, feature = "redis"))]
mod redis_round_trips;
#[cfg(target_os = "linux")]
mod command_faults;
