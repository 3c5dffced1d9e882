use tool_runtime::tool;

#[doc(hidden)]
#[tool]
async fn act() {}

fn main() {}
