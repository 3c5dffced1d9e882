#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(range = "1..5")]
    a: u8,
) {
}

fn main() {}
