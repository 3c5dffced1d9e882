use tool_runtime::tool;

// Acts.
#[tool]
async fn act() {}

fn main() {}
