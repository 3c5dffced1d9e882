use tool_runtime::tool;

/// Does a thing.
#[tool]
struct Act;

fn main() {}
