use tool_runtime::tools;

struct Store;

#[tools]
impl Store {
    /// Acts.
    #[tool]
    async fn act(#[arg(name = "store")] &self) {}
}

fn main() {}
