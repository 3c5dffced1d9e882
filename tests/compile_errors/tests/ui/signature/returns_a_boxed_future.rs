use std::future::Future;
use std::pin::Pin;

use tool_runtime::tool;

/// Acts.
#[tool]
fn act() -> Pin<Box<dyn Future<Output = String> + Send>> {
    Box::pin(async { String::new() })
}

fn main() {}
