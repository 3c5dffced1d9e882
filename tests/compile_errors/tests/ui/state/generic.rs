#![allow(unused)]

use tool_runtime::{State, tool};

/// Acts.
#[tool]
async fn act<S>(count: State<S>) -> u8 {
    1
}

fn main() {}
