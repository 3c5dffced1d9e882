#![allow(unused)]

use tool_runtime::{ToolRegistry, tool, tool_set};

async fn act() -> u8 {
    1
}

fn main() {
    ToolRegistry::new().register_all(tool_set![act]).ok();
}
