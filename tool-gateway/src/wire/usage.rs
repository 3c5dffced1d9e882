//! Usage, and the sum of the usage of several rounds, including nested counters.

use serde_json::{Map, Number, Value};

/// Adds the counters of `more`. Values of other types are replaced by the values in `more`.
pub(crate) fn add(sum: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (field, value) in more {
        match (sum.get_mut(field), value) {
            (Some(Value::Number(have)), Value::Number(more)) => *have = total(have, more),
            (Some(Value::Object(have)), Value::Object(more)) => add(have, more),
            (Some(_), Value::Null) => {}
            (Some(have), value) => *have = value.clone(),
            (None, value) => {
                sum.insert(field.clone(), value.clone());
            }
        }
    }
}

/// Parses the counters of a message. Returns `None` if the text is not an object.
pub(crate) fn read(json: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(json).ok()
}

/// Returns the counters as JSON.
pub(crate) fn to_json(usage: &Map<String, Value>) -> String {
    // An object with string keys can always be serialized.
    serde_json::to_string(usage).unwrap_or_default()
}

/// Returns the total number of input, output and cached tokens.
pub(crate) fn tokens(usage: &Map<String, Value>) -> u64 {
    const COUNTERS: [&str; 4] = [
        "input_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
        "output_tokens",
    ];
    let counters = COUNTERS.iter().filter_map(|name| usage.get(*name)?.as_u64());
    counters.fold(0, u64::saturating_add)
}

fn total(left: &Number, right: &Number) -> Number {
    match (left.as_u64(), right.as_u64()) {
        (Some(left), Some(right)) => left.saturating_add(right).into(),
        _ => Number::from_f64(left.as_f64().unwrap_or_default() + right.as_f64().unwrap_or_default())
            .unwrap_or_else(|| left.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sums_all_counters() {
        let mut sum = json!({ "input_tokens": 1, "cache_creation": { "ephemeral_5m_input_tokens": 2 }, "service_tier": "standard" });
        let more = json!({ "input_tokens": 10, "output_tokens": 5, "cache_creation": { "ephemeral_5m_input_tokens": 3 }, "service_tier": null });
        add(sum.as_object_mut().unwrap(), more.as_object().unwrap());
        let expected = json!({ "input_tokens": 11, "cache_creation": { "ephemeral_5m_input_tokens": 5 }, "service_tier": "standard", "output_tokens": 5 });
        assert_eq!(sum, expected);
    }
}
