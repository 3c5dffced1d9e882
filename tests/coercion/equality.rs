//! Compares values with expected values.

use serde_json::{Map, Number, Value};

/// Returns whether values are equal, with numbers compared by value: `3` equals `3.0`, and 2^53 differs from 2^53 + 1.
pub fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => same_number(one, other),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, one)| other.get(key).is_some_and(|other| same(one, other)))
        }
        _ => one == other,
    }
}

fn same_number(one: &Number, other: &Number) -> bool {
    match (integer(one), integer(other)) {
        (Some(one), Some(other)) => one == other,
        _ => one.as_f64() == other.as_f64(),
    }
}

/// Returns the number as an integer, if it is integral.
#[expect(
    clippy::cast_possible_truncation,
    reason = "integral, and checked against the range"
)]
fn integer(number: &Number) -> Option<i128> {
    number.as_i128().or_else(|| {
        let float = number.as_f64()?;
        (float.fract() == 0.0 && float.abs() < 1e38).then_some(float as i128)
    })
}

/// Returns whether a typed tool echoed the arguments of a dynamic tool: `None`s are missing, defaults are filled in, and unknown arguments
/// are removed.
pub fn echoed(expected: &Value, echo: &Value, schema: &Value, unknown: &[String]) -> bool {
    same(
        &prune(&filled(expected, schema), unknown, ""),
        &prune(echo, &[], ""),
    )
}

/// Adds the defaults of the tool's own parameters.
fn filled(value: &Value, schema: &Value) -> Value {
    let mut value = value.clone();
    if let (Some(fields), Some(properties)) = (value.as_object_mut(), schema["properties"].as_object()) {
        for (name, property) in properties {
            if let Some(default) = property.get("default") {
                fields.entry(name).or_insert_with(|| default.clone());
            }
        }
    }
    value
}

/// Removes nulls and unknown keys, which a function cannot distinguish.
fn prune(value: &Value, unknown: &[String], path: &str) -> Value {
    match value {
        Value::Object(fields) => {
            let mut kept = Map::new();
            for (key, value) in fields {
                let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                if !value.is_null() && !unknown.contains(&path) {
                    kept.insert(key.clone(), prune(value, unknown, &path));
                }
            }
            Value::Object(kept)
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items
                .map(|(index, item)| prune(item, unknown, &format!("{path}/{index}")))
                .collect()
        }
        scalar => scalar.clone(),
    }
}
