use tool_runtime::tool;

#[tool]
mod a {}

fn main() {}
