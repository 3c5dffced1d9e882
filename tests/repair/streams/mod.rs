//! The repair of tool calls in streams: recorded streams of each dialect with every deviation that providers show,
//! and random ones; each cut everywhere, and each held to what a client makes of it.

mod sent;
mod heard;
mod client;
mod recorded;
mod random;
mod mutated;
mod wild;
mod read;
mod whole;
mod deviations;
mod surrogates;
mod apart;
mod limits;
mod linear;
mod told;
