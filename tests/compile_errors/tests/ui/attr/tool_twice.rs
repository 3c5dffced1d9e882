use tool_runtime::tool;

/// Does a thing.
#[tool]
#[tool]
async fn act() {}

fn main() {}
