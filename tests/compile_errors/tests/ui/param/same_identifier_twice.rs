#![allow(unused_variables)]

use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(
    /// The first.
    first: u8,
    /// The second.
    first: u8,
) {
}

fn main() {}
