use tool_runtime::{State, tool};

use std::cell::Cell;

/// Does a thing.
#[tool]
async fn act(count: State<Cell<u8>>) {
    drop(count);
}

fn main() {}
