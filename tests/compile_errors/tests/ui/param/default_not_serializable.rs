use tool_runtime::tool;

use tool_runtime::schemars::JsonSchema;
use tool_runtime::serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde")]
#[schemars(crate = "tool_runtime::schemars")]
enum Mode {
    Fast,
}

/// Does a thing.
#[tool]
async fn act(
    /// What to use.
    #[arg(default = Mode::Fast)]
    mode: Mode,
) {
    let _ = mode;
}

fn main() {}
