use tool_runtime::tool;

/// Acts.
#[tool(errors = |_| String::new())]
async fn act() {}

fn main() {}
