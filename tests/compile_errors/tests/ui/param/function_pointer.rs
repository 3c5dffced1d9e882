#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    a: fn(u8) -> u8,
) {
}

fn main() {}
