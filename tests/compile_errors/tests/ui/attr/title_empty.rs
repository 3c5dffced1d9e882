use tool_runtime::tool;

/// Acts.
#[tool(title = "")]
async fn act() {}

fn main() {}
