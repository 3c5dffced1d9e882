#![allow(unused)]

use tool_runtime::{SessionState, tool};

/// Acts.
#[tool]
async fn act(count: SessionState<u32>) {
    let mut count = count.lock();
    std::future::ready(()).await;
    *count += 1;
}

fn main() {}
