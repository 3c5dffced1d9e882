#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(pattern = "[a-z")]
    a: String,
) {
}

fn main() {}
