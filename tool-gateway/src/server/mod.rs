//! The server: moves bytes between client, upstream and tools. What is to be done, `turn` and `session` say.

mod metrics;
mod principal;
mod session_tools;
mod running;
mod calls;
mod answer;
mod shared;
mod guard;
mod forward;
mod drive;
mod messages;
pub(crate) mod gateway;
