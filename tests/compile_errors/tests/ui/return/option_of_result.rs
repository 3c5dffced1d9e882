use tool_runtime::tool;

/// Acts.
#[tool]
async fn act() -> Option<Result<String, std::io::Error>> {
    None
}

fn main() {}
