use tool_runtime::tool;

/// Acts.
#[tool(open_world = "yes")]
async fn act() {}

fn main() {}
