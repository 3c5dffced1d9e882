#![allow(unused)]

use tool_runtime::{State, tool};

/// Acts.
#[tool]
async fn act(store: State<Store>) {}

fn main() {}
