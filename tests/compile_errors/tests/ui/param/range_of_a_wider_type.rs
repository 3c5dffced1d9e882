#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(range = ..=u16::MAX)]
    a: u8,
) {
}

fn main() {}
