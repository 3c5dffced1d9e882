#![allow(unused)]

use tool_runtime::tool;

/// Acts.
///
/// # Arguments
///
/// * `a` - How many.
#[tool]
async fn act(a: u8) {}

fn main() {}
