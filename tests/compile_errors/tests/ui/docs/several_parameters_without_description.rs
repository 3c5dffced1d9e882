use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(count: u32, #[arg(default = true)] quick: bool) {
    let _ = (count, quick);
}

fn main() {}
