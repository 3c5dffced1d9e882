use tool_runtime::tool;

struct Opaque;

/// Does a thing.
#[tool]
async fn act() -> Opaque {
    Opaque
}

fn main() {}
