#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(default = 1)]
    a: f64,
) {
}

fn main() {}
