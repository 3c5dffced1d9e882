use tool_runtime::tool;

/// Does a thing.
#[tool(strict, name = "act", strict)]
async fn act() {}

fn main() {}
