//! Limits the nesting of values, so that untrusted input cannot overflow the stack.

use serde_json::Value;

/// The maximum number of nested arrays and objects, in arguments and in schemas.
pub(crate) const MAX_DEPTH: usize = 128;

/// Returns whether a value nests deeper than [`MAX_DEPTH`].
pub(crate) fn is_too_deep(value: &Value) -> bool {
    is_deeper_than(MAX_DEPTH, value)
}

/// Returns whether a value nests deeper than `most` arrays and objects. Recursion stops at that depth.
pub(crate) fn is_deeper_than(most: usize, value: &Value) -> bool {
    let Some(left) = most.checked_sub(1) else {
        return is_container(value);
    };
    // Most values are scalars, which need no recursive call.
    let is_deeper = |part: &Value| is_container(part) && is_deeper_than(left, part);
    match value {
        Value::Array(items) => items.iter().any(is_deeper),
        Value::Object(entries) => entries.values().any(is_deeper),
        _ => false,
    }
}

/// Drops a value. The recursive `drop` of [`Value`] would overflow the stack at 100,000 levels; such a value is
/// dropped level by level.
pub(crate) fn drop_iteratively(value: Value) {
    if !is_too_deep(&value) {
        return;
    }
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Value::Array(items) => pending.extend(items.into_iter().filter(is_container)),
            Value::Object(entries) => {
                pending.extend(entries.into_iter().map(|(_, entry)| entry).filter(is_container));
            }
            _ => {}
        }
    }
}

/// Copies a value. Copying recurses, too, so a value that is too deep is copied down to one level beyond the limit:
/// the copy is too deep as well.
pub(crate) fn copy(value: &Value) -> Value {
    if is_too_deep(value) {
        copy_to(MAX_DEPTH + 1, value)
    } else {
        value.clone()
    }
}

fn copy_to(levels: usize, value: &Value) -> Value {
    let copy_child = |part: &Value| copy_to(levels - 1, part);
    match value {
        Value::Array(_) | Value::Object(_) if levels == 0 => Value::Null,
        Value::Array(items) => items.iter().map(copy_child).collect(),
        Value::Object(entries) => entries
            .iter()
            .map(|(key, entry)| (key.clone(), copy_child(entry)))
            .collect(),
        scalar => scalar.clone(),
    }
}

fn is_container(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::Object(_))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{MAX_DEPTH, copy, drop_iteratively, is_too_deep};

    fn nested(levels: usize) -> Value {
        (0..levels).fold(Value::Null, |inner, level| match level % 2 {
            0 => Value::Array(vec![inner]),
            _ => json!({ "a": inner }),
        })
    }

    #[test]
    fn depth_limit_is_exact() {
        assert!(!is_too_deep(&nested(MAX_DEPTH)));
        assert!(is_too_deep(&nested(MAX_DEPTH + 1)));
    }

    #[test]
    fn copies_values_up_to_the_depth_limit() {
        assert_eq!(copy(&nested(MAX_DEPTH)), nested(MAX_DEPTH));
        assert!(is_too_deep(&copy(&nested(MAX_DEPTH + 1))));
        let deep = (0..200_000).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
        assert!(is_too_deep(&copy(&deep)));
        drop_iteratively(deep);
    }

    #[test]
    fn drops_deep_values_without_overflow() {
        let deep = (0..200_000).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
        assert!(is_too_deep(&deep));
        drop_iteratively(deep);
    }
}
