use tool_runtime::tool;

/// Acts.
#[tool]
async fn act() -> Result<String, ActError> {
    Ok(String::new())
}

fn main() {}
