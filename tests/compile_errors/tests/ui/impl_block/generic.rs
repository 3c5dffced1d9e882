use tool_runtime::tools;

struct Store<T>(T);

#[tools]
impl<T> Store<T> {
    /// Does a thing.
    #[tool]
    async fn act(&self) {}
}

fn main() {}
