#![allow(unused)]

use tool_runtime::{Progress, tool};

/// Acts.
#[tool]
async fn act(progress: Option<Progress>) {}

fn main() {}
