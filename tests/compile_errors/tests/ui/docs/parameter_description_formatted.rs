#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(#[arg(description = format!("a {}", 5))] a: u8) {}

fn main() {}
