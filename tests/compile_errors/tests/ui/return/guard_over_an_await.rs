use std::sync::Mutex;
use tool_runtime::{State, tool};

/// Acts.
#[tool]
async fn act(count: State<Mutex<u8>>) -> u8 {
    let guard = count.lock().unwrap();
    std::future::ready(()).await;
    *guard
}

fn main() {}
