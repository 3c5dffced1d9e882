use tool_runtime::tools;

struct Store;

#[tools]
impl Store {
    /// Does a thing.
    #[tool]
    async fn act(&mut self) {}
}

fn main() {}
