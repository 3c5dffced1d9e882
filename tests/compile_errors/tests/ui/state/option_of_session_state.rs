#![allow(unused)]

use tool_runtime::{SessionState, tool};

/// Acts.
#[tool]
async fn act(count: Option<SessionState<u32>>) {}

fn main() {}
