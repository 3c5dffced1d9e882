use tool_runtime::tool;

#[tool]
async fn act() {
    //! Acts.
}

fn main() {}
