#![allow(unused)]

use tool_runtime::{ToolRegistry, tool, tool_set};

fn main() {
    ToolRegistry::new().register_all(tool_set![crate::missing]).ok();
}
