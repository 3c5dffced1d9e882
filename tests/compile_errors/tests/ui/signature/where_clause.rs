use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act()
where
    String: Clone,
{
}

fn main() {}
