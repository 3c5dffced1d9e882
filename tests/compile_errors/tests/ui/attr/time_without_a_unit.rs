use tool_runtime::tool;

/// Does a thing.
#[tool(timeout = "30")]
async fn act() {}

fn main() {}
