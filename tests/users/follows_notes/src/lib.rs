//! A user without serde and schemars in the manifest, who follows the compiler's notes.
//!
//! `tests/house/notes.rs` compares the attributes with those notes.

#![deny(warnings)]

use tool_runtime::tool;

/// A place.
#[derive(tool_runtime::serde::Deserialize, tool_runtime::schemars::JsonSchema)]
#[serde(crate = "tool_runtime::serde")]
#[schemars(crate = "tool_runtime::schemars")]
pub struct Place {
    /// Its name.
    name: String,
}

/// The weather.
#[derive(tool_runtime::serde::Serialize)]
#[serde(crate = "tool_runtime::serde")]
pub struct Weather {
    degrees: i8,
}

/// A unit.
#[derive(
    tool_runtime::serde::Deserialize, tool_runtime::schemars::JsonSchema, tool_runtime::serde::Serialize,
)]
#[serde(crate = "tool_runtime::serde")]
#[schemars(crate = "tool_runtime::schemars")]
pub enum Unit {
    Celsius,
    Fahrenheit,
}

/// Return the weather.
#[tool]
pub async fn weather(
    /// Place of the weather.
    place: Place,
    /// Unit of temperature.
    #[arg(default = Unit::Celsius)]
    unit: Unit,
) -> Weather {
    let degrees = match unit {
        Unit::Celsius => 20,
        Unit::Fahrenheit => 68,
    };
    drop(place.name);
    Weather { degrees }
}

#[cfg(test)]
#[tokio::test]
async fn tool_registers_and_runs() {
    use tool_runtime::testing;

    testing::run::<weather>(r#"{"place": {"name": "Oslo"}, "unit": "Fahrenheit"}"#)
        .await
        .assert_text(r#"{"degrees":68}"#);
}
