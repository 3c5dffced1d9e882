use tool_runtime::tools;

struct Store<'a>(&'a str);

#[tools]
impl Store<'_> {
    /// A.
    #[tool]
    async fn a(&self) {}
}

fn main() {}
