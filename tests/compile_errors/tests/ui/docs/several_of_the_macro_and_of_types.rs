#![allow(unused_variables)]

//! Errors of the macro and errors of types are reported together.

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
