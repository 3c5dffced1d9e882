#![allow(unused)]

use std::borrow::Cow;

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    text: Cow<'a, str>,
) {
}

fn main() {}
