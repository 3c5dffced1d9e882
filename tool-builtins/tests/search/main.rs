//! Tools that search, called as a model calls them, and compared with ripgrep.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test"
)]

#[path = "../files/folder.rs"]
#[allow(dead_code, reason = "the tests of files use more")]
mod folder;
#[cfg(target_os = "linux")]
#[path = "../files/swapped_folder.rs"]
mod swapped_folder;
mod arguments;
mod glob;
mod grep;
#[cfg(unix)]
mod ripgrep;
#[cfg(target_os = "linux")]
mod races;
#[cfg(target_os = "linux")]
mod costs;
#[cfg(target_os = "linux")]
mod speed;
