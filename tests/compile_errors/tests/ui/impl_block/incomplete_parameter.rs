#![allow(unused)]

use tool_runtime::{ToolRegistry, tools};

struct Store;

#[tools]
impl Store {
    /// Acts.
    #[tool]
    async fn act(
        &self,
        /// How many.
        count: u32,
        /// Of what.
        kind
    ) -> u32 {
        count
    }

    /// Does.
    #[tool]
    async fn does(
        &self,
        /// How many.
        count: u32,
    ) -> u32 {
        self.act(count, "kind").await
    }
}

fn main() {
    ToolRegistry::new().register_all(Store).ok();
}
