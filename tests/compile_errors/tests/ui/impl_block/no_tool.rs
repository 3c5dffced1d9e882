use tool_runtime::tools;

struct Store;

#[tools]
impl Store {
    /// Does a thing.
    pub async fn act(&self) {}
}

fn main() {}
