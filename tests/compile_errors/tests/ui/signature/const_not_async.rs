use tool_runtime::tool;

/// Does a thing.
#[tool]
const fn act() {}

fn main() {}
