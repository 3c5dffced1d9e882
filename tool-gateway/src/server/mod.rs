//! Server that passes bytes between client, upstream and tools. Decisions are made in `turn` and `session`. Requests enter in `http`.

pub(crate) mod observe;
pub(crate) mod access;
pub(crate) mod body;
pub(crate) mod generations;
pub(crate) mod mcp;
mod turns;
pub(crate) mod expiry;
pub(crate) mod offload;
mod drive;
mod pass;
mod admit;
mod openai;
pub(crate) mod http;
