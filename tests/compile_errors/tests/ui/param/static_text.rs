#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// Where.
    place: &'static str,
) {
}

fn main() {}
