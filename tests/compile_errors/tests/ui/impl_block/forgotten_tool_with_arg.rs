#![allow(unused)]

use tool_runtime::tools;

struct Store;

#[tools]
impl Store {
    /// A.
    #[tool]
    async fn a(&self) {}

    /// B.
    async fn b(&self, #[arg(default = 1)] x: u8) {}
}

fn main() {}
