use tool_runtime::tool;

/// Does a thing.
#[tool(crate)]
async fn act() {}

fn main() {}
