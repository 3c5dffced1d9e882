#![allow(unused)]

use tool_runtime::{ToolRegistry, tool};

/// Acts.
#[tool]
pub async fn act(
    /// Which.
    which: Missing,
) {
}

pub async fn uses() {
    ToolRegistry::new().register::<act>().ok();
    act(todo!()).await;
}

fn main() {}
