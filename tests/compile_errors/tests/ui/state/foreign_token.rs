#![allow(unused)]

use tool_runtime::tool;

struct CancellationToken;

/// Acts.
#[tool]
async fn act(cancel: CancellationToken) {}

fn main() {}
