use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(
    /// The first.
    _first: u8,
    /// The second.
    _first: u8,
) {
}

fn main() {}
