use tool_runtime::tool;

use std::rc::Rc;

/// Does a thing.
#[tool]
async fn act() -> String {
    let text = Rc::new(String::from("text"));
    std::future::ready(()).await;
    text.to_string()
}

fn main() {}
