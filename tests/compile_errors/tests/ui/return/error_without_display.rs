use tool_runtime::tool;

#[derive(Debug)]
struct Failure;

/// Does a thing.
#[tool]
async fn act() -> Result<(), Failure> {
    Err(Failure)
}

fn main() {}
