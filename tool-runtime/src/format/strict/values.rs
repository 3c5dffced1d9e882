//! Removes enum values that do not match the type of a strict form.

use serde_json::Value;

use super::keywords;
use crate::schema::check::limits::is_same;

/// Removes the values of `enum` that do not match the type or the `const`; an error if none remains.
pub(super) fn retain_matching(schema: &mut Value, name: &str) -> Result<(), String> {
    let constant = schema.get("const").cloned();
    let is_constant = |value: &Value| constant.as_ref().is_none_or(|constant| is_same(constant, value));
    let is_of_type =
        |value: &Value| keywords::type_of(value) == name || name == "number" && value.is_number();
    let is_any_left = match schema.get_mut("enum") {
        Some(Value::Array(values)) => {
            values.retain(|value| is_constant(value) && is_of_type(value));
            !values.is_empty()
        }
        _ => constant.as_ref().is_none_or(is_of_type),
    };
    if is_any_left {
        return Ok(());
    }
    Err(match (constant, schema.get("enum")) {
        (Some(_), Some(_)) => {
            format!("its `const` and `enum` have no value of the type `{name}` in common")
        }
        _ => format!("none of its values is of the type `{name}`"),
    })
}
