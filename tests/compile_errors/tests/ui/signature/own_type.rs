use tool_runtime::tool;

struct Store;

impl Store {
    /// Acts.
    #[tool]
    async fn act() -> Self {
        Store
    }
}

fn main() {}
