use tool_runtime::tool;

struct Act;

#[tool]
impl Act {}

fn main() {}
