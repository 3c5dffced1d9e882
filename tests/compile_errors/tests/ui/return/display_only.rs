use tool_runtime::tool;

/// Acts.
#[tool]
async fn act() -> impl std::fmt::Display {
    5
}

fn main() {}
