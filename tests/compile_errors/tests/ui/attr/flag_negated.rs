use tool_runtime::tool;

/// Acts.
#[tool(!read_only)]
async fn act() {}

fn main() {}
