use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(
    /// What to use.
    text: impl Into<String>,
) {
    let _ = text;
}

fn main() {}
