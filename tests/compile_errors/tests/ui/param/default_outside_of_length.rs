use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(
    /// What to use.
    #[arg(default = "", length = 1..)]
    text: String,
) {
    let _ = text;
}

fn main() {}
