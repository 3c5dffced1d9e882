use tool_runtime::tool;

/// Does a thing.
#[tool(crate = other_runtime)]
async fn act() {}

fn main() {}
