#![allow(unused)]

use tool_runtime::{State, tool};

/// Acts.
#[tool]
async fn act(count: State<std::rc::Rc<u8>>) {}

fn main() {}
