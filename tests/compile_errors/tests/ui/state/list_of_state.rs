#![allow(unused)]

use tool_runtime::{State, tool};

/// Acts.
#[tool]
async fn act(
    /// The counts.
    counts: Vec<State<u8>>,
) {
}

fn main() {}
