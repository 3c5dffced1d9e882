use tool_runtime::tools;

struct Store;

#[tools]
impl Store {
    /// A number.
    #[tool]
    const START: u8 = 0;

    /// Does a thing.
    #[tool]
    async fn act(&self) {}
}

fn main() {}
