//! Tests of the guide: links between its chapters, and the expansions in chapter 12, compared with the macro and the
//! compiler.

#![allow(clippy::unwrap_used, reason = "a test")]

mod chapters;
mod compiler;
mod explained;

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the text of a file in the workspace.
fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn text(path: &str) -> String {
    fs::read_to_string(file(path)).unwrap_or_else(|error| panic!("{path} cannot be read: {error}"))
}
