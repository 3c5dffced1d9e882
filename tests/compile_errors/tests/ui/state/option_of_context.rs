#![allow(unused)]

use tool_runtime::{Context, tool};

/// Acts.
#[tool]
async fn act(
    /// The call.
    context: Option<Context>,
) {
}

fn main() {}
