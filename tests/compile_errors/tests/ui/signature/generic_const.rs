use tool_runtime::tool;

/// Acts.
#[tool]
async fn act<const N: usize>() -> usize {
    N
}

fn main() {}
