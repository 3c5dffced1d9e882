use tool_runtime::tool;

/// Acts.
#[tool(name = "act",, strict)]
async fn act() {}

fn main() {}
