#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(default = MISSING)]
    a: u8,
) {
}

fn main() {}
