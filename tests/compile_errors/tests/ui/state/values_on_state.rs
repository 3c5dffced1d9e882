#![allow(unused)]

use tool_runtime::{State, tool};

/// Acts.
#[tool]
async fn act(#[arg(values = [1, 2])] count: State<u8>) {}

fn main() {}
