use tool_runtime::tools;

struct Store;

#[tools(crat = tool_runtime)]
impl Store {
    /// Does a thing.
    #[tool]
    async fn act(&self) {}
}

fn main() {}
