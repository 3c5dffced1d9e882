use tool_runtime::tool;

#[tool(description = "")]
async fn act() {}

fn main() {}
