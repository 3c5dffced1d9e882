use tool_runtime::tool;

#[tool]
thread_local! {}

fn main() {}
