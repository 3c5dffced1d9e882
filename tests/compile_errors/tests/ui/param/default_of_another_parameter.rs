#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    a: u8,
    /// B.
    #[arg(default = a)]
    b: u8,
) {
}

fn main() {}
