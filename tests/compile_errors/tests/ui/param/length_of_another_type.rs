#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(length = ..=String::new().len())]
    a: String,
) {
}

fn main() {}
