#![allow(unused)]

use tool_runtime::tool;

/// Acts.
#[tool]
async fn act(
    /// Which.
    #[arg(values = ["a", "b"], example = "c")]
    which: String,
) {
}

fn main() {}
