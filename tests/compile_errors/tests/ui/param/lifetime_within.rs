use tool_runtime::tool;

use std::borrow::Cow;

/// Does a thing.
#[tool]
async fn act(
    /// A text.
    text: Cow<'_, str>,
) {
    let _ = text;
}

fn main() {}
