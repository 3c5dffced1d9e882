use tool_runtime::tools;

#[tools]
trait Store {
    /// Acts.
    #[tool]
    async fn act(
        &self,
        /// How many.
        #[arg(default = 5)]
        count: u8,
    );
}

fn main() {}
