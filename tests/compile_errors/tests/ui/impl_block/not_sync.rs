use tool_runtime::tools;

struct Store(std::cell::Cell<u8>);

#[tools]
impl Store {
    /// Does a thing.
    #[tool]
    async fn act(&self) {}
}

fn main() {}
