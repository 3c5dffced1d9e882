#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(#[arg(description = " ")] a: u8) {}

fn main() {}
