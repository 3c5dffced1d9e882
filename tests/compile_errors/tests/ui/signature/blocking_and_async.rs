use tool_runtime::tool;

/// Does a thing.
#[tool(blocking)]
async fn act() {}

fn main() {}
