use tool_runtime::tool;

#[tool]
pub async fn act(
    /// What to use.
    count: u32,
) -> u32 {
    count
}

pub async fn uses() -> u32 {
    let mut registry = tool_runtime::ToolRegistry::new();
    registry.register::<act>().ok();
    act(1).await
}

fn main() {}
