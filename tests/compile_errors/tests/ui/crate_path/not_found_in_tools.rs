use tool_runtime::tools;

struct S;

#[tools(crate = other_runtime)]
impl S {
    /// A.
    #[tool]
    async fn act(&self) {}
}

fn main() {}
