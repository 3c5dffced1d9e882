#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(example = 50, range = 1..=10)]
    a: u8,
) {
}

fn main() {}
