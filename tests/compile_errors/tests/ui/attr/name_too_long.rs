use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa() {}

fn main() {}
