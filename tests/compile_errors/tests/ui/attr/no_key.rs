use tool_runtime::tool;

/// Does a thing.
#[tool("act")]
async fn act() {}

fn main() {}
