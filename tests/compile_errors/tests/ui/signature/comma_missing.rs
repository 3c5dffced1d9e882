#![allow(unused)]

use tool_runtime::{ToolRegistry, tool};

/// Acts.
#[tool]
pub async fn act(
    /// How many.
    count: u32
    /// Of what.
    kind: String,
) -> u32 {
    count
}

pub async fn uses() -> u32 {
    ToolRegistry::new().register::<act>().ok();
    act(1, "kind".to_owned()).await
}

fn main() {}
