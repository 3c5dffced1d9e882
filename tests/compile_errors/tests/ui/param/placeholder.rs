use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    a: _,
) {
}

fn main() {}
