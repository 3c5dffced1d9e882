use tool_runtime::tools;

struct Store;

#[tools]
impl Store {
    /// Does a thing.
    #[tool]
    async fn act(
        &self,
        /// Whose.
        other: Store,
    ) {
        drop(other);
    }
}

fn main() {}
