#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(pattern = 5)]
    a: String,
) {
}

fn main() {}
