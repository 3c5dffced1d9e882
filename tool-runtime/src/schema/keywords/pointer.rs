//! RFC 6901 JSON Pointers.

use serde_json::Value;

/// Appends a step to a copy of the pointer.
pub(crate) fn join(pointer: &str, key: &str) -> String {
    let mut joined = String::with_capacity(pointer.len() + key.len() + 1);
    joined.push_str(pointer);
    push(&mut joined, key);
    joined
}

/// Appends a step to a pointer.
pub(crate) fn push(pointer: &mut String, key: &str) {
    pointer.push('/');
    for letter in key.chars() {
        match letter {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

/// Returns the longest prefix of a pointer that exists in a schema.
pub(crate) fn existing_prefix<'p>(schema: &Value, mut pointer: &'p str) -> &'p str {
    while schema.pointer(pointer).is_none() {
        pointer = pointer.rsplit_once('/').map_or("", |(above, _)| above);
    }
    pointer
}

/// Returns whether one pointer is a prefix of the other.
pub(crate) fn overlap(one: &str, other: &str) -> bool {
    let (outer, inner) = if one.len() < other.len() {
        (one, other)
    } else {
        (other, one)
    };
    inner
        .strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns whether both pointers point into one list, and the first pointer to an earlier item.
pub(crate) fn is_earlier_item(one: &str, other: &str) -> bool {
    let mut steps = one.split('/').zip(other.split('/'));
    let differing = steps.find(|(one, other)| one != other);
    let index = |step: &str| step.parse::<usize>().ok();
    differing.is_some_and(|(one, other)| {
        index(one)
            .zip(index(other))
            .is_some_and(|(one, other)| one < other)
    })
}

#[cfg(test)]
mod tests {
    use super::{is_earlier_item, join, overlap};

    #[test]
    fn compares_the_positions_of_items_as_numbers() {
        assert!(is_earlier_item("/a/2", "/a/10/b") && is_earlier_item("/a/0/b/1", "/a/0/b/2"));
        assert!(!is_earlier_item("/a/10", "/a/2") && !is_earlier_item("/a/1", "/a/1"));
        assert!(!is_earlier_item("/a/b", "/a/c") && !is_earlier_item("/a/1", "/b/2"));
    }

    #[test]
    fn compares_complete_steps() {
        for (one, other) in [("", "/a"), ("/a/b", "/a"), ("/a", "/a")] {
            assert!(overlap(one, other) && overlap(other, one), "{one} {other}");
        }
        assert!(!overlap("/a", "/ab") && !overlap("/a/b", "/a/c"));
    }

    #[test]
    fn escapes_keys() {
        assert_eq!(join("", ""), "/");
        assert_eq!(join("/a", "b/~c"), "/a/b~1~0c");
        let value = serde_json::json!({ "b/~c": 1 });
        assert_eq!(value.pointer(&join("", "b/~c")), Some(&1.into()));
    }
}
