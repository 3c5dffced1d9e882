use tool_runtime::tool;

const DOC: u8 = 5;

#[tool(description = DOC)]
async fn act() {}

fn main() {}
