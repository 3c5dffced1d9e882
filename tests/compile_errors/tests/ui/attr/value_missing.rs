use tool_runtime::tool;

/// Does a thing.
#[tool(name)]
async fn act() {}

fn main() {}
