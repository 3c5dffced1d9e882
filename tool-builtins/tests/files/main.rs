//! Tools for files, called as a model calls them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test"
)]

#[allow(dead_code, reason = "the tests of searches use more")]
mod folder;
#[cfg(unix)]
mod swapped_folder;
mod read;
mod list;
mod write;
#[cfg(unix)]
mod paths;
mod edit_messages;
mod edit_table;
mod edit_property;
