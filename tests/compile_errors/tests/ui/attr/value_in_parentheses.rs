use tool_runtime::tool;

/// Acts.
#[tool(name("act"))]
async fn act() {}

fn main() {}
