#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(#[arg(crate = tool_runtime)] a: u8) {}

fn main() {}
