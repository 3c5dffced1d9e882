#![allow(unused_variables)]

//! What the macro refuses and what types refuse are said in one go.

use tool_runtime::tool;

struct Opaque;

/// Act.
#[tool(nam = "x")]
async fn act(
    count: u32,
    /// The thing.
    thing: Opaque,
    /// A name.
    name: &str,
) {
}

fn main() {}
