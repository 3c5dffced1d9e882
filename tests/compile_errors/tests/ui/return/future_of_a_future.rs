use std::future::Future;

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act() -> impl Future<Output = String> {
    async { String::new() }
}

fn main() {}
