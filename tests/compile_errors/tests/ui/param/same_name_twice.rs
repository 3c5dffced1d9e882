use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(
    /// The first.
    first: u8,
    /// The second.
    #[arg(name = "first")]
    second: u8,
) {
    let _ = (first, second);
}

fn main() {}
