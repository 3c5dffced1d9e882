#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act<'a>(
    /// A.
    text: &'a str,
) {
}

fn main() {}
