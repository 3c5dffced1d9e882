use tool_runtime::tool;

struct Store;

/// Does a thing.
#[tool]
async fn act(store: Store) {
    drop(store);
}

fn main() {}
