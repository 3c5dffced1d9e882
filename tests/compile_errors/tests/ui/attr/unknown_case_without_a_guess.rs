use tool_runtime::tool;

/// Acts.
#[tool(rename_all = "zebra")]
async fn act() {}

fn main() {}
