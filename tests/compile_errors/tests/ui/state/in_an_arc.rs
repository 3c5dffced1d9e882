#![allow(unused)]

use std::sync::Arc;

use tool_runtime::{State, tool};

struct Store;

/// Acts.
#[tool]
async fn act(store: Arc<State<Store>>) {}

fn main() {}
