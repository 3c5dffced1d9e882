#![allow(unused)]

use tool_runtime::tools;

struct Store;

macro_rules! a {
    () => {
        /// A.
        #[tool]
        async fn a(&self) {}
    };
}

#[tools]
impl Store {
    a!();
}

fn main() {}
