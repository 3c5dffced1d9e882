use tool_runtime::tools;

struct Store;

#[tools]
impl Store {
    /// Does a thing.
    #[tool(crate = tool_runtime)]
    async fn act(&self) {}
}

fn main() {}
