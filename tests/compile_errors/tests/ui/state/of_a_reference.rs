#![allow(unused)]

use tool_runtime::{State, tool};

struct Store;

/// Acts.
#[tool]
async fn act(count: State<&Store>) {}

fn main() {}
