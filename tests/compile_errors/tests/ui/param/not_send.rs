#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    a: std::rc::Rc<String>,
) {
}

fn main() {}
