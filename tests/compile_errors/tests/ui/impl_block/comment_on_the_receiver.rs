use tool_runtime::tools;

struct Store;

#[tools]
impl Store {
    /// Acts.
    #[tool]
    async fn act(
        /// The store.
        &self,
    ) {
    }
}

fn main() {}
