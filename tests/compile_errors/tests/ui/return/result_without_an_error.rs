use tool_runtime::tool;

/// Acts.
#[tool]
async fn act() -> Result<String> {
    Ok(String::new())
}

fn main() {}
