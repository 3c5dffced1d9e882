use tool_runtime::tool;

/// Does a thing.
#[tool(rename_all = "camelCase")]
async fn act(
    /// A text.
    __: String,
) {
    let _ = __;
}

fn main() {}
