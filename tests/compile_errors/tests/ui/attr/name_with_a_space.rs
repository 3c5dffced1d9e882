use tool_runtime::tool;

/// Does a thing.
#[tool(name = "act now")]
async fn act() {}

fn main() {}
