use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(
    /// What to use.
    #[arg(range = 0.0..=1)]
    share: f64,
) {
    let _ = share;
}

fn main() {}
