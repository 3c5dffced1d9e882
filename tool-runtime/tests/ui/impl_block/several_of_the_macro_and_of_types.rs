#![allow(unused_variables)]

//! What the macro refuses and what types refuse are said in one go, for methods as well.

use tool_runtime::tools;

struct Opaque;

struct Store;

#[tools]
impl Store {
    /// Act.
    #[tool(nam = "x")]
    async fn act(
        &self,
        count: u32,
        /// The thing.
        thing: Opaque,
    ) {
    }
}

fn main() {}
