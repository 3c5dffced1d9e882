use tool_runtime::tool;

/// Acts.
#[tool(input_examples = [{ "count": 1 } { "count": 2 }])]
async fn act() {}

fn main() {}
