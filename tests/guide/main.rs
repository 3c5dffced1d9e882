//! The guide: its chapters hang together, and what the twelfth says the macro writes, the macro and the compiler are
//! asked about.

#![allow(clippy::unwrap_used, reason = "a test")]

mod chapters;
mod compiler;
mod explained;

use std::fs;
use std::path::{Path, PathBuf};

/// A file of the workspace.
fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn text(path: &str) -> String {
    fs::read_to_string(file(path)).unwrap_or_else(|error| panic!("{path} cannot be read: {error}"))
}
