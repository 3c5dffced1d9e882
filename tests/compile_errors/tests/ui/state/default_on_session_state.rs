#![allow(unused)]

use tool_runtime::{SessionState, tool};

/// Acts.
#[tool]
async fn act(#[arg(default = 1)] count: SessionState<u32>) {}

fn main() {}
