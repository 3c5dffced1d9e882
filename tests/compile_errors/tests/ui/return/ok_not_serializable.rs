use tool_runtime::tool;

struct Opaque;

/// Does a thing.
#[tool]
async fn act() -> Result<Opaque, String> {
    Ok(Opaque)
}

fn main() {}
