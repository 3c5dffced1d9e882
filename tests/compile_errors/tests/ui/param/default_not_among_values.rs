use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(
    /// What to use.
    #[arg(default = "c", values = ["a", "b"])]
    text: String,
) {
    let _ = text;
}

fn main() {}
