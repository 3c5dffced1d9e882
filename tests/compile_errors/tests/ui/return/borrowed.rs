use tool_runtime::tool;

static TEXT: &str = "text";

/// Does a thing.
#[tool]
async fn act() -> &str {
    TEXT
}

fn main() {}
