use tool_runtime::{ToolRegistry, tool};

/// Acts.
#[tool]
pub async fn act(
    /// A text.
    text: String,
) -> usize {
    text.;
    5
}

pub async fn uses() -> usize {
    ToolRegistry::new().register::<act>().ok();
    act(String::new()).await
}

fn main() {}
