use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(count: u32) {
    let _ = count;
}

fn main() {}
