use tool_runtime::tool;

trait Acts {
    /// Acts.
    #[tool]
    async fn act(&self);
}

fn main() {}
