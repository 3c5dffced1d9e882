use tool_runtime::tool;

/// Does a thing.
#[tool]
#[arg(name = "act")]
async fn act() {}

fn main() {}
