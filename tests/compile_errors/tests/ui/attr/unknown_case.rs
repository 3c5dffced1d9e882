use tool_runtime::tool;

/// Does a thing.
#[tool(rename_all = "camel_case")]
async fn act() {}

fn main() {}
