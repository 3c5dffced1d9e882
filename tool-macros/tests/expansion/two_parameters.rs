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
