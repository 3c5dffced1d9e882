use tool_runtime::tool;

#[tool(description = format!("a {}", 5))]
async fn act() {}

fn main() {}
