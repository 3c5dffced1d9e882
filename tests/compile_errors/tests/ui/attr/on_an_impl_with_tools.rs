#![allow(unused)]

use tool_runtime::tool;

struct Store;

#[tool]
impl Store {
    /// Acts.
    #[tool]
    async fn act(
        &self,
        /// How many.
        #[arg(default = 5)]
        count: u8,
    ) {
    }
}

fn main() {}
