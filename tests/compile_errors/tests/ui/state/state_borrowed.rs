use tool_runtime::{State, tool};

/// Does a thing.
#[tool]
async fn act(count: &State<u8>) {
    let _ = count;
}

fn main() {}
