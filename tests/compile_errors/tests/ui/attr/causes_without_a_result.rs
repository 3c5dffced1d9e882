use tool_runtime::tool;

/// Does a thing.
#[tool(causes)]
async fn act() -> String {
    String::new()
}

fn main() {}
