use tool_runtime::tool;

/// Acts.
#[tool(blocking)]
async fn act() {}

fn main() {}
