#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[serde(default)]
    a: u8,
) {
}

fn main() {}
