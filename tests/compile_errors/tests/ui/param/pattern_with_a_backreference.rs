#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(pattern = r"(a|b)\1")]
    a: String,
) {
}

fn main() {}
