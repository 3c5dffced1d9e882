use tool_runtime::tool;

struct Opaque;

/// Acts.
#[tool(nam = "x")]
async fn act(
    /// How many.
    #[arg(default = "many")]
    _count: u32,
    /// A name.
    #[arg(range = 1..=5)]
    _name: String,
    /// A number.
    #[arg(default = 11, range = ..=10)]
    _number: u8,
) -> Opaque {
    Opaque
}

fn main() {}
