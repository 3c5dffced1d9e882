use tool_runtime::tool;

#[tool]
trait Acts {
    /// Acts.
    async fn act(
        &self,
        /// How many.
        count: u8,
    );
}

fn main() {}
