#![allow(unused)]

use tool_runtime::tool;
use tool_runtime::{schemars, serde};

/// A mode.
#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(crate = "tool_runtime::serde")]
#[schemars(crate = "tool_runtime::schemars")]
enum Mode {
    Fast,
    Slow,
}

/// Acts.
#[tool]
async fn act(
    /// A.
    #[arg(default = "Fast")]
    a: Mode,
) {
}

fn main() {}
