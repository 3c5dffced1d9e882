use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act<'a>() {}

fn main() {}
