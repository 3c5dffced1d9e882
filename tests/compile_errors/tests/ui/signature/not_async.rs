use tool_runtime::tool;

/// Does a thing.
#[tool]
fn act() {}

fn main() {}
