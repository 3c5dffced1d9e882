#![allow(unused)]

use tool_runtime::schemars::JsonSchema;
use tool_runtime::tool;

#[derive(JsonSchema)]
#[schemars(crate = "tool_runtime::schemars")]
struct Place {
    city: String,
}

/// Acts.
#[tool]
async fn act(
    /// Where.
    place: Place,
) {
}

fn main() {}
