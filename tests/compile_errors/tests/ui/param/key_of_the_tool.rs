use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(#[arg(timeout = "5s", description = "A")] a: u8) -> u8 {
    a
}

fn main() {}
