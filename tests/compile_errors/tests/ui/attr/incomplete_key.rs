use tool_runtime::tool;

/// Acts.
#[tool(descr)]
async fn act() {}

fn main() {}
