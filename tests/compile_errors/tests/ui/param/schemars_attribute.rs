#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(#[schemars(description = "A.")] a: u8) {}

fn main() {}
