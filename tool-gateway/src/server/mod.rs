//! The server: moves bytes between client, upstream and tools. What is to be done, `turn` and `session` say.

mod metrics;
mod counted_calls;
mod timed_store;
mod log;
mod spans;
pub(crate) mod principal;
mod client_limits;
mod session_state;
mod checkpoint;
mod locks;
mod running;
mod unstored;
mod answer;
pub(crate) mod unknown_tool;
mod shared;
mod save;
mod calls;
mod guard;
mod idle_body;
mod forward;
mod job;
pub(crate) mod offload;
mod offload_sweep;
mod deferred;
mod drive;
mod messages;
pub(crate) mod gateway;
