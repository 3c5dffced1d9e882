#![allow(unused)]

use tool_runtime::{Context, tool};

/// Acts.
#[tool]
async fn act(context: &Context) {}

fn main() {}
