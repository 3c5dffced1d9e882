use tool_runtime::tool;

#[tool]
const A: u8 = 5;

fn main() {}
