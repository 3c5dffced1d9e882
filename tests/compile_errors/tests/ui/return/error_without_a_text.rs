use tool_runtime::tool;

/// Acts.
#[tool]
async fn act() -> Result<(), ()> {
    Ok(())
}

fn main() {}
