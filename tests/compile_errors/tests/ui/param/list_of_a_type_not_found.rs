#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// Which.
    filters: Vec<Filter>,
) {
}

fn main() {}
