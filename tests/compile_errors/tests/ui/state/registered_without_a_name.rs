use tool_runtime::{ToolRegistry, tool};

/// Acts.
#[tool]
async fn act() -> u8 {
    1
}

fn main() {
    ToolRegistry::new().register().ok();
}
