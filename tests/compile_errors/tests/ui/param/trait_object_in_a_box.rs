#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    value: Box<dyn std::fmt::Display>,
) {
}

fn main() {}
