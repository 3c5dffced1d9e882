use tool_runtime::tool;

/// Does a thing.
#[tool(blocking = "yes")]
fn act() {}

fn main() {}
