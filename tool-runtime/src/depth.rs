//! How deep values nest. All of it without recursion: what comes from outside must not overflow the stack.

use serde_json::Value;

/// How many arrays and objects may stand in one another, in arguments and in schemas.
pub(crate) const MOST: usize = 128;

/// Whether a value nests deeper than [`MOST`].
pub(crate) fn is_too_deep(value: &Value) -> bool {
    is_deeper_than(MOST, value)
}

/// Whether a value nests deeper than so many arrays and objects.
pub(crate) fn is_deeper_than(most: usize, value: &Value) -> bool {
    let holds = |value: &&Value| matches!(value, Value::Array(_) | Value::Object(_));
    let mut open: Vec<_> = Some(value)
        .filter(holds)
        .map(|value| (value, 1_usize))
        .into_iter()
        .collect();
    while let Some((value, depth)) = open.pop() {
        if depth > most {
            return true;
        }
        match value {
            Value::Array(items) => open.extend(items.iter().filter(holds).map(|item| (item, depth + 1))),
            Value::Object(entries) => {
                open.extend(entries.values().filter(holds).map(|entry| (entry, depth + 1)));
            }
            _ => {}
        }
    }
    false
}

/// Drops a value level by level. Its own drop recurses, and 100,000 levels are too many for that.
pub(crate) fn dismantle(value: Value) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items.into_iter().filter(nests)),
            Value::Object(entries) => open.extend(entries.into_iter().map(|(_, entry)| entry).filter(nests)),
            _ => {}
        }
    }
}

fn nests(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::Object(_))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{MOST, dismantle, is_too_deep};

    fn nested(levels: usize) -> Value {
        (0..levels).fold(Value::Null, |inner, level| match level % 2 {
            0 => Value::Array(vec![inner]),
            _ => json!({ "a": inner }),
        })
    }

    #[test]
    fn the_limit_is_exact() {
        assert!(!is_too_deep(&nested(MOST)));
        assert!(is_too_deep(&nested(MOST + 1)));
    }

    #[test]
    fn deep_values_are_dropped_without_overflow() {
        let deep = (0..200_000).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
        assert!(is_too_deep(&deep));
        dismantle(deep);
    }
}
