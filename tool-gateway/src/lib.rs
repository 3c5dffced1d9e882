#![doc = include_str!("../README.md")]

#[cfg(feature = "server")]
pub mod upstream;
mod cli;

pub use cli::run;
