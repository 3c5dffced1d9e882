#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(#[param(description = "A.")] a: u8) {}

fn main() {}
