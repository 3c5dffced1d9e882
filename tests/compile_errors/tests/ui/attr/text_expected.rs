use tool_runtime::tool;

/// Does a thing.
#[tool(name = 5)]
async fn act() {}

fn main() {}
