//! A program with one tool, for the compiler to expand.

use std::fmt;

use tool_runtime::{IntoTools, tool, tool_set};

/// Look up the forecast for a city.
#[tool]
pub async fn get_weather(
    /// City name, e.g. "Oslo".
    city: String,
    /// Number of days ahead.
    days: Option<u8>,
) -> Result<String, WeatherError> {
    forecast(&city, days.unwrap_or(1)).await
}

#[derive(Debug)]
pub struct WeatherError;

impl fmt::Display for WeatherError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no forecast")
    }
}

async fn forecast(city: &str, days: u8) -> Result<String, WeatherError> {
    Ok(format!("{city}: rain for {days} days"))
}

/// Tools of this module.
pub fn tools() -> impl IntoTools {
    tool_set![get_weather]
}

fn main() {}
