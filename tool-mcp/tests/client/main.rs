//! The client, with servers that this program runs as other processes: see `peer.rs`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test, in all of its functions"
)]

mod peer;
mod support;
mod basics;
mod processes;
mod revisions;
mod lists;
mod calls;
mod hostile;
