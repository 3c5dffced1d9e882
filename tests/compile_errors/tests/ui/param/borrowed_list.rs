use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(
    /// What to use.
    list: &[u8],
) {
    let _ = list;
}

fn main() {}
