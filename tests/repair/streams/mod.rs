//! Repair of tool calls in streams: recorded streams of each dialect with every known deviation of providers, and random streams. Each
//! stream is cut everywhere, and compared with the view of a client.

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
