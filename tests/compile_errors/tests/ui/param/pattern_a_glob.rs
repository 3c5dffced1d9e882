#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(pattern = "*.rs")]
    a: String,
) {
}

fn main() {}
