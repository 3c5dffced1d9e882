#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(default = "src")]
    a: std::path::PathBuf,
) {
}

fn main() {}
