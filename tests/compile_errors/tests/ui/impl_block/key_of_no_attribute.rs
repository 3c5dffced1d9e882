use tool_runtime::tools;

struct Store;

#[tools(prefix = "store_")]
impl Store {
    /// A.
    #[tool]
    async fn a(&self) -> u8 {
        1
    }
}

fn main() {}
