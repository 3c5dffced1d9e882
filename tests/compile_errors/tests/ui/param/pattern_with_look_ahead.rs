#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(pattern = r"^(?!tmp).*")]
    a: String,
) {
}

fn main() {}
