use tool_runtime::tool;

/// Does a thing.
#[tool(input_examples = [5])]
async fn act() {}

fn main() {}
