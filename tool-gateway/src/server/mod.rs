//! The server: moves bytes between client, upstream and tools. What is to be done, `turn` and `session` say. A request enters in `http`.

mod observe;
pub(crate) mod access;
mod body;
mod turns;
pub(crate) mod offload;
mod drive;
mod pass;
mod admit;
mod openai;
pub(crate) mod http;
