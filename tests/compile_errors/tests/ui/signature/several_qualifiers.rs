use tool_runtime::tool;

/// Does a thing.
#[tool]
async unsafe extern "C" fn act(_: ...) {}

fn main() {}
