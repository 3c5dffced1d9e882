#![doc = include_str!("../README.md")]

mod random;
mod self_wakes;
mod wire;
pub mod session;
pub mod upstream;
mod turn;
mod server;
mod cli;

pub use cli::run;
pub use server::access::unknown_tool::UnknownTool;
pub use server::http::gateway::{Gateway, Turns};
pub use server::offload::{InvalidOffload, Offload};
pub use turn::ownership::{Offer, Ownership};
