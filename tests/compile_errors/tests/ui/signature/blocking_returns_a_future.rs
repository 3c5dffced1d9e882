use std::future::Future;

use tool_runtime::tool;

/// Does a thing.
#[tool(blocking)]
fn act() -> impl Future<Output = ()> {
    async {}
}

fn main() {}
