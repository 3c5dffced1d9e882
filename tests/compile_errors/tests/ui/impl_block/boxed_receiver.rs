use tool_runtime::tools;

struct Store;

#[tools]
impl Store {
    /// Acts.
    #[tool]
    async fn act(self: Box<Self>) {}
}

fn main() {}
