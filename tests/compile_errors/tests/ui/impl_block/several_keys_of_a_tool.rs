use tool_runtime::tools;

struct Store;

#[tools(name = "store", timeout = "3s")]
impl Store {
    /// A.
    #[tool]
    async fn a(&self) -> u8 {
        1
    }
}

fn main() {}
