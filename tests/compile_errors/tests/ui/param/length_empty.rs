#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(length = ..0)]
    a: String,
) {
}

fn main() {}
