#![allow(unused)]

use tool_runtime::tools;

struct Store;

#[tools]
impl Store {
    /// Acts.
    #[tool]
    async fn merge(
        &self,
        /// Another one.
        other: Self,
    ) {
    }
}

fn main() {}
