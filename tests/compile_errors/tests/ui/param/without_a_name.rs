use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(
    /// What to use.
    _: u8,
) {}

fn main() {}
