//! Mistake: the file is missing.

use tool_runtime::{ToolRegistry, testing};

fn main() {
    testing::assert_definitions!(ToolRegistry::new());
}
