use tool_runtime::tool;

/// Acts.
#[tool(crate = tool_runtime, crate = tool_runtime)]
async fn act() {}

fn main() {}
