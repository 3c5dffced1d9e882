#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(#[arg("A.")] a: u8) {}

fn main() {}
