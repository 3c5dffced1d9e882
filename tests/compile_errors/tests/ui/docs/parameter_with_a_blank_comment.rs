#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    ///
    a: u8,
) {
}

fn main() {}
