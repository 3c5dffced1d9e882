//! Repair of tool calls in streams: recorded streams of each dialect with every known deviation of providers, and random streams. Each
//! stream is cut everywhere, and compared with the view of a client.

mod sent;
mod client_events;
mod client;
mod recorded;
mod random;
mod mutated;
mod irregular;
mod read;
mod complete_responses;
mod deviations;
mod surrogates;
mod indexes;
mod limits;
mod linear;
mod logging;
