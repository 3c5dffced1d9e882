#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(name = "")]
    a: u8,
) {
}

fn main() {}
