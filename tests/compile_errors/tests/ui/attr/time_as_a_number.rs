use tool_runtime::tool;

/// Acts.
#[tool(timeout = 30)]
async fn act() {}

fn main() {}
