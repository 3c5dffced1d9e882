#![allow(unused_variables)]

use tool_runtime::tools;

struct Store;

#[tools]
impl Store {
    #[tool]
    async fn act(&self) -> Store {
        Store
    }

    /// Does.
    #[tool]
    async fn does(
        &self,
        /// How many.
        #[arg(range = 1..=5)]
        name: String,
    ) {
    }
}

fn main() {}
