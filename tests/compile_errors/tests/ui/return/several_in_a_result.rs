use tool_runtime::tool;

struct A;
struct B;

/// Acts.
#[tool]
async fn act() -> Result<A, B> {
    Ok(A)
}

fn main() {}
