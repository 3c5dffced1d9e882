/// Do nothing.
#[tool(crate = my_agent::tools::runtime)]
async fn rest() {}
