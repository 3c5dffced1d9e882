use tool_runtime::tool;

/// Does a thing.
#[tool(colour = "red")]
async fn act() {}

fn main() {}
