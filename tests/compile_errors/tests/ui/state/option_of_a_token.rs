#![allow(unused)]

use tool_runtime::{CancellationToken, tool};

/// Acts.
#[tool]
async fn act(cancel: Option<CancellationToken>) {}

fn main() {}
