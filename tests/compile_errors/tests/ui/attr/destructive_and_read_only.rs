use tool_runtime::tool;

/// Acts.
#[tool(read_only, destructive)]
async fn act() {}

fn main() {}
