use tool_runtime::tool;

/// Does a thing.
#[tool]
async extern "C" fn act() {}

fn main() {}
