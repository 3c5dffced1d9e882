//! Tools for files, called as a model calls them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test"
)]

mod folder;
mod read;
mod edit_table;
mod edit_property;
