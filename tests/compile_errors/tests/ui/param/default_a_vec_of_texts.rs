#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(default = vec!["src"])]
    a: Vec<String>,
) {
}

fn main() {}
