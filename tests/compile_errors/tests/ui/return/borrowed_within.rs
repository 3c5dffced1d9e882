use tool_runtime::tool;

/// Acts.
#[tool]
async fn act() -> Option<&str> {
    None
}

fn main() {}
