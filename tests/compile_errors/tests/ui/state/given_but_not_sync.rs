#![allow(unused)]

use std::cell::Cell;
use tool_runtime::{State, ToolRegistry, tool};

/// Acts.
#[tool]
async fn act(count: State<u8>) -> u8 {
    1
}

fn main() {
    let _ = ToolRegistry::new().with_state(Cell::new(5));
}
