//! The server: moves bytes between client, upstream and tools. What is to be done, `turn` and `session` say.

mod metrics;
mod principal;
mod session_tools;
mod running;
mod calls;
mod answer;
mod drive;
mod forward;
mod messages;
mod guard;
pub(crate) mod gateway;
