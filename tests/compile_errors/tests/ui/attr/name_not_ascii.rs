use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn größe() {}

fn main() {}
