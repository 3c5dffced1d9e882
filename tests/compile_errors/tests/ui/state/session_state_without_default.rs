#![allow(unused)]

use tool_runtime::serde::{Deserialize, Serialize};
use tool_runtime::{SessionState, tool};

#[derive(Serialize, Deserialize)]
#[serde(crate = "tool_runtime::serde")]
struct Basket(Vec<String>);

/// Acts.
#[tool]
async fn act(basket: SessionState<Basket>) {}

fn main() {}
