use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(texts: Vec<&'static str>) {
    let _ = texts;
}

fn main() {}
