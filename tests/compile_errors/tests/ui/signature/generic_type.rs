use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act<T>() {}

fn main() {}
