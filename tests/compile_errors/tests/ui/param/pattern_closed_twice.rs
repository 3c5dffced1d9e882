#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(pattern = "[0-9]+)")]
    a: String,
) {
}

fn main() {}
