#![allow(unused)]

use tool_runtime::{State, tools};

struct Agent;

#[tools]
impl Agent {
    /// Acts.
    #[tool]
    async fn act(&self, store: State<Store>) {}
}

fn main() {}
