#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// When.
    when: std::time::Instant,
) {
}

fn main() {}
