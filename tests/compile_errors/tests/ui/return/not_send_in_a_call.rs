use std::rc::Rc;
use tool_runtime::tool;

async fn inner() {
    let a = Rc::new(5);
    std::future::ready(()).await;
    drop(a);
}

/// Acts.
#[tool]
async fn act() {
    inner().await;
}

fn main() {}
