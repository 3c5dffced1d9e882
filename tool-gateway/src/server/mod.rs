//! The server: moves bytes between client, upstream and tools. The decisions are in `turn` and `session`. A request enters in `http`.

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
