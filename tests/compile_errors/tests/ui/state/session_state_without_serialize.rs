#![allow(unused)]

use tool_runtime::{SessionState, tool};

#[derive(Default)]
struct Basket(Vec<String>);

/// Acts.
#[tool]
async fn act(basket: SessionState<Basket>) {}

fn main() {}
