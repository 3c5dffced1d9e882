#![allow(unused)]

use tool_runtime::{State, tool};

/// Acts.
#[tool]
async fn act(#[arg(not_blank, name = "x")] count: State<String>) -> u8 {
    1
}

fn main() {}
