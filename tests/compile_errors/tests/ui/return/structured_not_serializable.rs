use tool_runtime::{Structured, tool};

struct Weather {
    celsius: f64,
}

/// Tells the weather.
#[tool]
async fn weather() -> Result<Structured<Weather>, &'static str> {
    Ok(Structured(Weather { celsius: 21.5 }))
}

fn main() {}
