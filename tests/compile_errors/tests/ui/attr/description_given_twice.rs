use tool_runtime::tool;

/// Does a thing.
#[tool(description = "Acts.", description = "Does.")]
async fn act() {}

fn main() {}
