use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(
    /// What to use.
    texts: Vec<&'static str>,
) {
    let _ = texts;
}

fn main() {}
