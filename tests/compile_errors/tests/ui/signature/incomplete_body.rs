use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act() -> u32 {
    let missing = nothing_of_that_name;
    missing
}

fn main() {}
