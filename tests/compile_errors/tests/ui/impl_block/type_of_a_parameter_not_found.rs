#![allow(unused)]

use tool_runtime::{ToolRegistry, tools};

struct Store;

#[tools]
impl Store {
    /// Acts.
    #[tool]
    async fn act(
        &self,
        /// Which.
        which: Missing,
    ) -> u8 {
        1
    }

    async fn uses(&self) -> u8 {
        self.act(todo!()).await
    }
}

fn main() {
    ToolRegistry::new().register_all(Store).ok();
}
