use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(
    /// What to use.
    #[arg(default = 200, range = 1..=100)]
    count: u32,
) {
    let _ = count;
}

fn main() {}
