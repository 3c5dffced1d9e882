#![allow(unused)]

use std::sync::Arc;

use tool_runtime::tool;

struct Store;

/// Acts.
#[tool]
async fn act(store: Arc<Store>) {}

fn main() {}
