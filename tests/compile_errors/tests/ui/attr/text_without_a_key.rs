use tool_runtime::tool;

#[tool("Adds two numbers.")]
async fn act() {}

fn main() {}
