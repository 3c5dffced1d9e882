use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(
    /// What to use.
    text: &str,
) {
    let _ = text;
}

fn main() {}
