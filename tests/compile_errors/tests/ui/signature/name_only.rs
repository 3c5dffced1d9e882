use tool_runtime::{ToolRegistry, tool};

/// Acts.
#[tool]
async fn act {
    1;
}
pub async fn uses() {
    ToolRegistry::new().register::<act>().ok();
    act().await
}

fn main() {}
