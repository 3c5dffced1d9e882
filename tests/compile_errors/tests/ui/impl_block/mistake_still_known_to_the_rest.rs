use tool_runtime::{ToolRegistry, tools};

struct Store;

#[tools]
impl Store {
    #[tool]
    async fn act(&self) -> u8 {
        1
    }

    async fn uses(&self) -> u8 {
        self.act().await
    }
}

fn main() {
    ToolRegistry::new().register_all(Store).ok();
}
