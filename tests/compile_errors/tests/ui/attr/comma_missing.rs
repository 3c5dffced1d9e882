use tool_runtime::tool;

/// Does a thing.
#[tool(strict read_only)]
async fn act() {}

fn main() {}
