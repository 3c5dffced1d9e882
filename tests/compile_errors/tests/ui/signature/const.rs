use tool_runtime::tool;

/// Does a thing.
#[tool]
const async fn act() {}

fn main() {}
