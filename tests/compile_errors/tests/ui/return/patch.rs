//! Mistake: a patch as an answer; `Keep` is not a JSON value.

use tool_runtime::{Patch, tool};

/// Tell what changed.
#[tool]
async fn changed() -> Patch<String> {
    Patch::Keep
}

fn main() {}
