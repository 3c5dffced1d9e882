//! Mistake: the definitions where the registry belongs.

use tool_runtime::{ToolRegistry, testing};

fn main() {
    let registry = ToolRegistry::new();
    testing::assert_definitions!(registry.tool_definitions(), "tools.json");
}
