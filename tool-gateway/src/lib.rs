#![doc = include_str!("../README.md")]

mod cli;

pub use cli::run;
