use tool_runtime::tools;

#[tools]
enum Store {}

fn main() {}
