#![allow(unused)]

use std::sync::{Arc, Mutex};

use tool_runtime::tool;

struct Store;

/// Acts.
#[tool]
async fn act(
    /// The store.
    store: Arc<Mutex<Store>>,
) {
}

fn main() {}
