#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(length = -1..)]
    a: String,
) {
}

fn main() {}
