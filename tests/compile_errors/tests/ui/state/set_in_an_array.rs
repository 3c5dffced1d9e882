#![allow(unused)]

use tool_runtime::{ToolRegistry, tool, tool_set};

/// A.
#[tool]
async fn act() -> u8 {
    1
}

fn main() {
    ToolRegistry::new().register_all([act]).ok();
}
