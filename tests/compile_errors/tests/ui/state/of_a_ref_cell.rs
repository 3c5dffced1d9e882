#![allow(unused)]

use std::cell::RefCell;

use tool_runtime::{State, tool};

/// Acts.
#[tool]
async fn act(names: State<RefCell<Vec<String>>>) {}

fn main() {}
