use tool_runtime::tool;

/// Acts.
#[tool(rename_all = camelCase)]
async fn act() {}

fn main() {}
