use tool_runtime::tool;

/// Does a thing.
#[tool(crate = "tool_runtime")]
async fn act() {}

fn main() {}
