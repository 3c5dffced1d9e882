use tool_runtime::tool;

/// Acts.
#[tool(input_examples = [{ "a": }])]
async fn act() {}

fn main() {}
