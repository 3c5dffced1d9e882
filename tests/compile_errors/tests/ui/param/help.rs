use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(#[arg(help = "What to use.")] count: u32) {
    let _ = count;
}

fn main() {}
