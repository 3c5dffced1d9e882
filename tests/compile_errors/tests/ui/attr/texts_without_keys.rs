use tool_runtime::tool;

#[tool("act", "Adds two numbers.")]
async fn act() {}

fn main() {}
