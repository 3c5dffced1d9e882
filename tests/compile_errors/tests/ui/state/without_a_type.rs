use tool_runtime::{State, tool};

/// Acts.
#[tool]
async fn act(count: State) {}

fn main() {}
