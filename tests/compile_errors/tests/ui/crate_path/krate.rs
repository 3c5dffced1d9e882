use tool_runtime::tool;

/// Acts.
#[tool(krate = tool_runtime)]
async fn act() {}

fn main() {}
