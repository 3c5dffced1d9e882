#![allow(unused)]

use tool_runtime::{State, tool};

/// Acts.
#[tool]
async fn act(count: Option<State<u8>>) {}

fn main() {}
