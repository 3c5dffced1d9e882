use tool_runtime::tools;

struct Store;

#[tools]
impl Store {
    #[tool]
    async fn first(&self) {}

    /// Does a thing.
    #[tool]
    fn second(&self) {}

    /// Does a thing.
    #[tool]
    async fn third(
        &self,
        /// What to use.
        text: &str,
    ) {
        let _ = text;
    }
}

fn register(store: Store) {
    tool_runtime::ToolRegistry::new().register_all(store).ok();
}

fn main() {}
