use tool_runtime::tool;

/// Does a thing.
#[tool(strict = "yes")]
async fn act() {}

fn main() {}
