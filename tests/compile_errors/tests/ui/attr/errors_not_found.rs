use tool_runtime::tool;

/// Acts.
#[tool(errors = missing)]
async fn act() {}

fn main() {}
