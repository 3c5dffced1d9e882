#![doc = include_str!("../README.md")]

// The example of a store is also a module of tests.
#[cfg(test)]
extern crate self as tool_gateway;

mod random;
mod fold_map;
mod name_pattern;
mod self_wakes;
mod wrapped_body;
mod off_worker;
mod wire;
pub mod session;
pub mod upstream;
mod turn;
mod settings;
mod server;
mod tools;
mod serve;
mod commands;

pub use commands::run;
pub use server::http::gateway::Gateway;
pub use server::http::running_turns::Turns;
pub use settings::offload::{InvalidOffload, Offload};
pub use settings::unknown_tool::UnknownTool;
pub use turn::ownership::{Offer, Ownership};
