use tool_runtime::tools;

struct Store(String);

#[tools]
impl Store {
    /// Does a thing.
    #[tool]
    async fn act(&self) -> &str {
        &self.0
    }
}

fn main() {}
