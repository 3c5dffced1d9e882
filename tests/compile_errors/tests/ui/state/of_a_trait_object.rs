#![allow(unused)]

use tool_runtime::{State, tool};

trait Store {}

/// Acts.
#[tool]
async fn act(count: State<dyn Store>) {}

fn main() {}
