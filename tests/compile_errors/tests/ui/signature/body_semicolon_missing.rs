use tool_runtime::{ToolRegistry, tool};

/// Acts.
#[tool]
pub async fn act() -> u32 {
    let count = 5
    count
}

pub async fn uses() -> u32 {
    ToolRegistry::new().register::<act>().ok();
    act().await
}

fn main() {}
