use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(#[arg(timeout = "5s", description = "A")] _a: u8) {}

fn main() {}
