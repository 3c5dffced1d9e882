use tool_runtime::tools;

/// Does a thing.
#[tools]
async fn act() {}

fn main() {}
