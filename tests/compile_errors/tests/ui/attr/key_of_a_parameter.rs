use tool_runtime::tool;

/// Acts.
#[tool(default = 5)]
async fn act() {}

fn main() {}
