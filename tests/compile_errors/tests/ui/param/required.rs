#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(required)]
    a: String,
) {
}

fn main() {}
