use tool_runtime::{ToolRegistry, tool};

/// Acts.
#[tool]
pub async fn act() -> Missing {
    todo!()
}

pub async fn uses() {
    ToolRegistry::new().register::<act>().ok();
    act().await;
}

fn main() {}
