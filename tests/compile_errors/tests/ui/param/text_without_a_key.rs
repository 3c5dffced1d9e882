#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg("What to use.")]
    a: String,
) {
}

fn main() {}
