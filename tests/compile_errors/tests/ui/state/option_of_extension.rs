#![allow(unused)]

use tool_runtime::{Extension, tool};

/// Acts.
#[tool]
async fn act(user: Option<Extension<u32>>) {}

fn main() {}
