use tool_runtime::tool;

/// Acts.
#[tool(crate = other_runtime)]
async fn act(
    /// A.
    #[arg(default = 1, range = 1..)]
    a: u8,
) -> u8 {
    1
}

fn main() {}
