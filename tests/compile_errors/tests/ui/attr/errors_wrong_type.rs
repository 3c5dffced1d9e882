use tool_runtime::tool;

fn explain(count: usize) -> String {
    count.to_string()
}

/// Does a thing.
#[tool(errors = explain)]
async fn act() {}

fn main() {}
