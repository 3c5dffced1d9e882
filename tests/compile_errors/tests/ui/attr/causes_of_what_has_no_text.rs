use tool_runtime::tool;

struct Opaque;

/// Does a thing.
#[tool(causes)]
async fn act() -> Result<String, Opaque> {
    Err(Opaque)
}

fn main() {}
