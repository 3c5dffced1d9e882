#![allow(unused)]

use tool_runtime::tools;

#[tools]
mod store {
    /// Acts.
    #[tool]
    async fn act(
        /// How many.
        #[arg(default = 5)]
        count: u8,
    ) {
    }
}

fn main() {}
