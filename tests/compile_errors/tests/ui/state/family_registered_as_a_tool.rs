use tool_runtime::{ToolRegistry, tools};

struct Store;

#[tools]
impl Store {
    /// Acts.
    #[tool]
    async fn act(&self) {}
}

fn main() {
    ToolRegistry::new().register::<Store>().ok();
}
