use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(
    /// What to use.
    #[arg(range = 10..=1)]
    count: u32,
) {
    let _ = count;
}

fn main() {}
