use tool_runtime::tools;

struct Store;

trait Act {
    async fn act(&self);
}

#[tools]
impl Act for Store {
    /// Does a thing.
    #[tool]
    async fn act(&self) {}
}

fn main() {}
