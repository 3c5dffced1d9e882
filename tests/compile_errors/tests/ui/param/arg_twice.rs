use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(
    /// What to use.
    #[arg(default = 1)]
    #[arg(range = 1..)]
    count: u32,
) {
    let _ = count;
}

fn main() {}
