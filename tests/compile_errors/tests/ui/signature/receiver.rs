use tool_runtime::tool;

struct Store;

impl Store {
    /// Does a thing.
    #[tool]
    async fn act(&self) {}
}

fn main() {}
