use tool_runtime::{ToolRegistry, tool};

/// Acts.
#[tool]
async fn act() {}

fn main() {
    ToolRegistry::new().register_all(act).ok();
}
