use tool_runtime::tool;

/// Acts.
#[tool(input_examples = { "a": 1 })]
async fn act() {}

fn main() {}
