use tool_runtime::tool;

/// Acts.
#[tool(params(a = "What to use."))]
async fn act() {}

fn main() {}
