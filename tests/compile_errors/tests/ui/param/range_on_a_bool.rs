#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(range = 0..=1)]
    a: bool,
) {
}

fn main() {}
