use tool_runtime::{State, tool};

/// Acts.
#[tool]
async fn act(State(a): State<u8>) {}

fn main() {}
