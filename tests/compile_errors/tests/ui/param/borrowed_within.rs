use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(
    /// What to use.
    text: Option<&str>,
) {
    let _ = text;
}

fn main() {}
