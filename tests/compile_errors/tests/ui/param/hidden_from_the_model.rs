#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(skip)]
    a: String,
) {
}

fn main() {}
