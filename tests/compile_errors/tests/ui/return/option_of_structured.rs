use tool_runtime::{Structured, schemars, serde, tool};

#[derive(serde::Serialize, schemars::JsonSchema)]
#[serde(crate = "tool_runtime::serde")]
#[schemars(crate = "tool_runtime::schemars")]
struct Weather {
    celsius: f64,
}

/// Tells the weather.
#[tool]
async fn weather() -> Option<Structured<Weather>> {
    None
}

fn main() {}
