use tool_runtime::tool;

struct A;

/// Acts.
#[tool]
async fn act() -> Option<A> {
    None
}

fn main() {}
