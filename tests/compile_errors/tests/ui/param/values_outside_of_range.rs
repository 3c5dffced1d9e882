#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(values = [1, 50], range = 1..=10)]
    a: u8,
) {
}

fn main() {}
