use tool_runtime::{ToolRegistry, tool};

/// Acts.
#[tool]
pub async fn act() -> String {
    5
}

pub async fn uses() -> String {
    ToolRegistry::new().register::<act>().ok();
    act().await
}

fn main() {}
