#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(values = ["a", 5])]
    a: String,
) {
}

fn main() {}
