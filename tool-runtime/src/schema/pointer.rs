//! RFC 6901 JSON Pointers.

/// A pointer one step longer.
pub(crate) fn join(pointer: &str, key: &str) -> String {
    let mut joined = String::with_capacity(pointer.len() + key.len() + 1);
    joined.push_str(pointer);
    push(&mut joined, key);
    joined
}

/// Appends one step.
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

/// Whether one place is in the other, or they are the same.
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

#[cfg(test)]
mod tests {
    use super::{join, overlap};

    #[test]
    fn places_meet_step_by_step() {
        for (one, other) in [("", "/a"), ("/a/b", "/a"), ("/a", "/a")] {
            assert!(overlap(one, other) && overlap(other, one), "{one} {other}");
        }
        assert!(!overlap("/a", "/ab") && !overlap("/a/b", "/a/c"));
    }

    #[test]
    fn escapes() {
        assert_eq!(join("", ""), "/");
        assert_eq!(join("/a", "b/~c"), "/a/b~1~0c");
        let value = serde_json::json!({ "b/~c": 1 });
        assert_eq!(value.pointer(&join("", "b/~c")), Some(&1.into()));
    }
}
