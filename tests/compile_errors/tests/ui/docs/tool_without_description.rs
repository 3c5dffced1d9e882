use tool_runtime::tool;

#[tool]
async fn act() {}

fn main() {}
