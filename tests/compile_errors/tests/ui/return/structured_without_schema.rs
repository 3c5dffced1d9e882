use tool_runtime::{Structured, serde, tool};

#[derive(serde::Serialize)]
#[serde(crate = "tool_runtime::serde")]
struct Weather {
    celsius: f64,
}

/// Tells the weather.
#[tool]
async fn weather() -> Structured<Weather> {
    Structured(Weather { celsius: 21.5 })
}

fn main() {}
