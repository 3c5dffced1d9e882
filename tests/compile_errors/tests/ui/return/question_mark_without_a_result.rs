use tool_runtime::tool;

/// Acts.
#[tool]
async fn act() -> String {
    std::fs::read_to_string("a")?
}

fn main() {}
