use tool_runtime::tools;

#[tools]
impl Store {
    /// A.
    #[tool]
    async fn a(&self) {}
}

fn main() {}
