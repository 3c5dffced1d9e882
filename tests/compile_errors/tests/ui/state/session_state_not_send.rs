#![allow(unused)]

use tool_runtime::{SessionState, tool};

/// Acts.
#[tool]
async fn act(basket: SessionState<std::rc::Rc<u8>>) {}

fn main() {}
