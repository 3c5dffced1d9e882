use tool_runtime::tools;

struct Store;

#[tools]
impl Store {
    /// A.
    #[tool]
    async fn a(&self) {}
}

#[tools]
impl Store {
    /// A.
    #[tool]
    async fn b(&self) {}
}

fn main() {}
