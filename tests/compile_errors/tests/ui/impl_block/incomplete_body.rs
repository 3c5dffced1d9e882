use tool_runtime::{ToolRegistry, tools};

struct Store;

#[tools]
impl Store {
    /// Acts.
    #[tool]
    async fn act(&self) -> u8 {
        nothing_of_that_name
    }

    async fn uses(&self) -> u8 {
        self.act().await
    }
}

fn main() {
    ToolRegistry::new().register_all(Store).ok();
}
