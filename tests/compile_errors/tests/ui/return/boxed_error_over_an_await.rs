use tool_runtime::tool;

/// Acts.
#[tool]
async fn act() -> Result<String, String> {
    let error: Box<dyn std::error::Error> = "a".into();
    std::future::ready(()).await;
    Err(error.to_string())
}

fn main() {}
