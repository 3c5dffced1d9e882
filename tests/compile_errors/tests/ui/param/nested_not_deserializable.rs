use tool_runtime::tool;

struct Opaque;

/// Does a thing.
#[tool]
async fn act(
    /// What to use.
    things: Vec<Opaque>,
) {
    drop(things);
}

fn main() {}
