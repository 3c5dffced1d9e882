//! Commands: their answers, their ends, background commands, and their confinement. After each test, no process is left.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test, in all of its functions"
)]

mod lab;

mod answers;
mod background;
mod ends;
mod sandbox;
