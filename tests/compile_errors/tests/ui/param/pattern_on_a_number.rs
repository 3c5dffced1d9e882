use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(
    /// What to use.
    #[arg(pattern = "^a")]
    count: u32,
) {
    let _ = count;
}

fn main() {}
