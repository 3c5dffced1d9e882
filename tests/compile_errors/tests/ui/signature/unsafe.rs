use tool_runtime::tool;

/// Does a thing.
#[tool]
async unsafe fn act() {}

fn main() {}
