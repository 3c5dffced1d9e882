#![allow(unused)]

use tool_runtime::{Context, tool};

/// Acts.
#[tool]
async fn act(#[arg(default = 1)] context: Context) {}

fn main() {}
