#![allow(unused)]

use tool_runtime::{CancellationToken, tool};

/// Acts.
#[tool]
async fn act(#[arg(example = 1)] cancel: CancellationToken) {}

fn main() {}
