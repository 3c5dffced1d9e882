use tool_runtime::tools;

struct Store<T>(T);

#[tools]
impl<T: Send + Sync + 'static> Store<T> {
    /// Acts.
    #[tool]
    async fn act(&self) {}
}

fn main() {}
