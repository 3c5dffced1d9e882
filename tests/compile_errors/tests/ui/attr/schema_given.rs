use tool_runtime::tool;

/// Acts.
#[tool(schema = "{}")]
async fn act() {}

fn main() {}
