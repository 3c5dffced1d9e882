#![allow(unused_variables)]

use tool_runtime::tool;

struct Opaque;

/// Acts.
#[tool(nam = "x")]
async fn act(
    /// How many.
    #[arg(default = "many")]
    count: u32,
    /// A name.
    #[arg(range = 1..=5)]
    name: String,
    /// A number.
    #[arg(default = 11, range = ..=10)]
    number: u8,
) -> Opaque {
    Opaque
}

fn main() {}
