//! The guide's last chapter says what the macro writes: here the macro and the compiler are asked whether that is so.

#![allow(clippy::unwrap_used, reason = "a test")]

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
