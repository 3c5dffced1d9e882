#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act<T: Into<String>>(
    /// A text.
    text: T,
) {
}

fn main() {}
