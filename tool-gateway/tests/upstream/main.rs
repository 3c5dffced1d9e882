//! Requests that an upstream receives, and responses that the gateway reads.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "a test"
)]

#[path = "../server/events.rs"]
mod events;
#[path = "../../../tests/support/random.rs"]
#[allow(dead_code, unreachable_pub, reason = "other suites use the rest")]
mod random;
#[path = "../server/test_script.rs"]
#[allow(dead_code, reason = "other suites use the rest")]
mod test_script;
mod body;
mod server;
mod random_server;
mod anthropic;
mod connections;
mod stress;
mod script_messages;
mod script_chat;
mod script_pace;
mod script_selection;
mod script_files;
mod script_embedded;
