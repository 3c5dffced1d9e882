use tool_runtime::{ToolRegistry, tools};

struct Store;

#[tools]
impl Store {
    /// Look.
    #[tool]
    async fn look(&self) {}
}

fn main() {
    let mut registry = ToolRegistry::new();
    let _ = registry.nest("store", Store);
}
