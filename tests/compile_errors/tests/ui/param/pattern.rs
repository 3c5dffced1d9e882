use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(
    /// A thing to use.
    (a, b): (u8, u8),
) {
    let _ = (a, b);
}

fn main() {}
