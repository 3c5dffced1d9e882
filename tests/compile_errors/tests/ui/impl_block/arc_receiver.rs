use std::sync::Arc;
use tool_runtime::tools;

struct Store;

#[tools]
impl Store {
    /// A.
    #[tool]
    async fn a(self: Arc<Self>) {}
}

fn main() {}
