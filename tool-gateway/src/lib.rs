#![doc = include_str!("../README.md")]

#[cfg(feature = "server")]
mod random;
#[cfg(feature = "server")]
mod wire;
#[cfg(feature = "server")]
pub mod session;
#[cfg(feature = "server")]
pub mod upstream;
#[cfg(feature = "server")]
mod turn;
mod cli;

pub use cli::run;
