use tool_runtime::tool;

/// Acts.
#[tool]
async fn act() -> ! {
    panic!()
}

fn main() {}
