#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(pattern = "(")]
    a: String,
) {
}

fn main() {}
