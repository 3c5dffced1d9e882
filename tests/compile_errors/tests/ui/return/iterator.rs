use tool_runtime::tool;

/// Acts.
#[tool]
async fn act() -> impl Iterator<Item = u8> {
    [1].into_iter()
}

fn main() {}
