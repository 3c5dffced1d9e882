//! What the macro refuses and what types refuse are said in one go.

use tool_runtime::tool;

struct Opaque;

/// Act.
#[tool(nam = "x")]
async fn act(
    _count: u32,
    /// The thing.
    _thing: Opaque,
    /// A name.
    _name: &str,
) {
}

fn main() {}
