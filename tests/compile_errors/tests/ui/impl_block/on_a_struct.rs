use tool_runtime::tools;

#[tools]
struct Store;

fn main() {}
