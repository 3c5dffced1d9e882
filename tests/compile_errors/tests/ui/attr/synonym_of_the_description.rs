use tool_runtime::tool;

#[tool(desc = "Adds two numbers.")]
async fn act() {}

fn main() {}
