#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(type = "string")]
    a: String,
) {
}

fn main() {}
