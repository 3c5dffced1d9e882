use tool_runtime::tools;

struct Store;

#[tools]
impl Store {
    /// A.
    #[tool(name = "x")]
    async fn a(&self) {}
    /// A.
    #[tool(name = "x")]
    async fn b(&self) {}
}

fn main() {}
