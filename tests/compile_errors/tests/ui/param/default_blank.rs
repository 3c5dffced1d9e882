use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(
    /// What to use.
    #[arg(default = " ", not_blank)]
    text: String,
) {
    let _ = text;
}

fn main() {}
