use tool_runtime::tool;

/// Does a thing.
#[tool(errors = 5)]
async fn act() {}

fn main() {}
