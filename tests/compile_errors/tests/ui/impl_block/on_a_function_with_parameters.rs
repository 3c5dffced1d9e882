#![allow(unused)]

use tool_runtime::tools;

/// Acts.
#[tools]
async fn act(
    /// How many.
    #[arg(default = 5)]
    count: u8,
) {
}

fn main() {}
