use tool_runtime::tool;

/// Does a thing.
#[tool(desciption = "Does a thing.")]
async fn act() {}

fn main() {}
