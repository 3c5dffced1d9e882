//! Usage of a message, and the total usage of several rounds, including nested counters.

use serde_json::{Map, Number, Value};

/// Adds the counters of `more`. Values of other types are replaced by the values in `more`, unless these are `null`.
pub(crate) fn add(sum: &mut Map<String, Value>, more: &Map<String, Value>) {
    if sum.is_empty() {
        // The clone of a map does not hash the names again.
        sum.clone_from(more);
        return;
    }
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

/// Updates the counters from a later event of the message, whose counters are cumulative. A `null` is ignored.
pub(crate) fn merge(counted: &mut Map<String, Value>, later: Map<String, Value>) {
    for (field, value) in later {
        match (counted.get_mut(&field), value) {
            (Some(Value::Object(have)), Value::Object(later)) => merge(have, later),
            (Some(_), Value::Null) => {}
            (Some(have), value) => *have = value,
            (None, value) => {
                counted.insert(field, value);
            }
        }
    }
}

/// Field of the usage with one entry per iteration. An iteration is one run of the model within a message.
const ITERATIONS: &str = "iterations";

/// Removes and returns the `iterations` of a round's usage. Without them, returns one entry for the round.
pub(crate) fn take_iterations(round: &mut Map<String, Value>) -> Vec<Value> {
    match round.remove(ITERATIONS) {
        Some(Value::Array(entries)) if !entries.is_empty() => entries,
        _ => vec![iteration(round)],
    }
}

/// Returns the entry of a round: its input and output, in the form of an entry of `iterations`.
fn iteration(round: &Map<String, Value>) -> Value {
    let mut entry = Map::new();
    entry.insert("type".to_owned(), "message".into());
    for counter in COUNTERS {
        let counted = round.get(counter).filter(|counted| counted.is_number());
        entry.insert(counter.to_owned(), counted.cloned().unwrap_or_else(|| 0.into()));
    }
    if let Some(creation) = round
        .get("cache_creation")
        .filter(|creation| creation.is_object())
    {
        entry.insert("cache_creation".to_owned(), creation.clone());
    }
    entry.into()
}

/// Returns the sum of several rounds with the entries of each round, as JSON. The entry of a single round would repeat the sum, and is
/// omitted.
pub(crate) fn with_iterations(sum: &Map<String, Value>, iterations: &[Value]) -> String {
    if iterations.len() < 2 {
        return to_json(sum);
    }
    let mut usage = sum.clone();
    usage.insert(ITERATIONS.to_owned(), iterations.to_vec().into());
    to_json(&usage)
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

/// Counters of tokens.
const COUNTERS: [&str; 4] = [
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
];

/// Numbers of tokens of a message or a turn; `None` for a number that the upstream does not send.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TokenCounts {
    pub(crate) input: Option<u64>,
    pub(crate) cache_creation: Option<u64>,
    pub(crate) cache_read: Option<u64>,
    pub(crate) output: Option<u64>,
}

impl TokenCounts {
    /// Reads the counters with one walk over the fields, which takes less time than a look-up of each counter.
    pub(crate) fn new(usage: &Map<String, Value>) -> Self {
        let mut counts = Self::default();
        for (field, value) in usage {
            let count = match field.as_str() {
                "input_tokens" => &mut counts.input,
                "cache_creation_input_tokens" => &mut counts.cache_creation,
                "cache_read_input_tokens" => &mut counts.cache_read,
                "output_tokens" => &mut counts.output,
                _ => continue,
            };
            *count = value.as_u64();
        }
        counts
    }

    /// Returns the total number of input, output and cached tokens.
    pub(crate) fn total(self) -> u64 {
        let Self {
            input,
            cache_creation,
            cache_read,
            output,
        } = self;
        let counts = [input, cache_creation, cache_read, output];
        counts.into_iter().flatten().fold(0, u64::saturating_add)
    }
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
    fn merges_later_counters_except_null() {
        let read = |value: Value| value.as_object().unwrap().clone();
        let mut counted = read(
            json!({ "input_tokens": 9, "output_tokens": 1, "cache_creation": { "ephemeral_5m_input_tokens": 2 }, "service_tier": null }),
        );
        let later = json!({ "input_tokens": null, "output_tokens": 5, "cache_creation": { "ephemeral_1h_input_tokens": 3, "ephemeral_5m_input_tokens": null }, "service_tier": "standard" });
        merge(&mut counted, read(later));
        let expected = json!({ "input_tokens": 9, "output_tokens": 5, "cache_creation": { "ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 3 }, "service_tier": "standard" });
        assert_eq!(Value::from(counted), expected);
    }

    #[test]
    fn sums_all_counters() {
        let mut sum = json!({ "input_tokens": 1, "cache_creation": { "ephemeral_5m_input_tokens": 2 }, "service_tier": "standard" });
        let more = json!({ "input_tokens": 10, "output_tokens": 5, "cache_creation": { "ephemeral_5m_input_tokens": 3 }, "service_tier": null });
        add(sum.as_object_mut().unwrap(), more.as_object().unwrap());
        let expected = json!({ "input_tokens": 11, "cache_creation": { "ephemeral_5m_input_tokens": 5 }, "service_tier": "standard", "output_tokens": 5 });
        assert_eq!(sum, expected);
    }
}
