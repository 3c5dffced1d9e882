use tool_runtime::tool;

struct Opaque;

/// Does a thing.
#[tool]
async fn act(
    /// What to use.
    thing: Opaque,
) {
    drop(thing);
}

fn main() {}
