#![allow(unused)]

use tool_runtime::{ToolRegistry, tool};

/// Acts.
#[tool]
pub async fn act(
    /// How many.
    count: Vec<,
    /// A.
    b: u8,
) -> u32 {
    1
}

pub async fn uses() -> u32 {
    ToolRegistry::new().register::<act>().ok();
    act(1, 2).await
}

fn main() {}
