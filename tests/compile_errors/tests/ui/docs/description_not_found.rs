use tool_runtime::tool;

#[tool(description = MISSING)]
async fn act() {}

fn main() {}
