#![doc = include_str!("../README.md")]

#[cfg(feature = "server")]
mod random;
#[cfg(feature = "server")]
mod self_wakes;
#[cfg(feature = "server")]
mod wire;
#[cfg(feature = "server")]
pub mod session;
#[cfg(feature = "server")]
pub mod upstream;
#[cfg(feature = "server")]
mod turn;
#[cfg(feature = "server")]
mod server;
mod cli;

pub use cli::run;
#[cfg(feature = "server")]
pub use server::access::unknown_tool::UnknownTool;
#[cfg(feature = "server")]
pub use server::http::gateway::{Gateway, Turns};
#[cfg(feature = "server")]
pub use server::offload::{InvalidOffload, Offload};
#[cfg(feature = "server")]
pub use turn::ownership::{Offer, Ownership};
