use tool_runtime::tools;

struct Store;

#[tools]
impl Store {
    /// A.
    #[tools]
    async fn a(&self) {}
}

fn main() {}
