use tool_runtime::{ToolRegistry, tool};

/// Acts.
#[tool]
async pub fn act(
    /// A.
    a: u8) -> u32 {
    1
}
pub async fn uses() -> u32 {
    ToolRegistry::new().register::<act>().ok();
    act(1).await
}

fn main() {}
