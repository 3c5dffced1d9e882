use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(
    /// A number.
    _number: u8,
) {
}

fn main() {}
