use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(
    /// What to use.
    #[arg(range = 1..=10)]
    text: String,
) {
    let _ = text;
}

fn main() {}
