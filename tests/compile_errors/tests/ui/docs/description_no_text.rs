use tool_runtime::tool;

#[tool(description = 5)]
async fn act() {}

fn main() {}
