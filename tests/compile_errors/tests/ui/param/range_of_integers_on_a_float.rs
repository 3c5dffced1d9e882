#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(range = 1..=5)]
    a: f64,
) {
}

fn main() {}
