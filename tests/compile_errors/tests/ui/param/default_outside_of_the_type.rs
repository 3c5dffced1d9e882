#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(default = 300)]
    a: u8,
) {
}

fn main() {}
