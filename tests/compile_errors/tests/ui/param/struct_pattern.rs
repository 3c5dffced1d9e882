#![allow(unused)]

use tool_runtime::tool;

struct Pair {
    a: u8,
    b: u8,
}

/// Acts.
#[tool]
async fn act(
    /// A.
    Pair { a, b }: Pair,
) {
}

fn main() {}
