use std::rc::Rc;

use tool_runtime::ToolRegistry;

fn main() {
    let _ = ToolRegistry::new().with_state(Rc::new(5));
}
