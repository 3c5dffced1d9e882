use std::rc::Rc;
use tool_runtime::tool;

/// Acts.
#[tool]
async fn act() -> Rc<String> {
    Rc::new(String::new())
}

fn main() {}
