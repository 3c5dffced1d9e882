#![allow(unused_variables)]

//! Errors of the macro and errors of types are reported together, for methods as well.

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
