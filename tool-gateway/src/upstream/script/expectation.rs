//! What a request must contain.

use serde_json::Value;

use super::raw_object::Excerpt;

/// Compares a request with what is expected of it: objects may have more members, arrays have equal length, everything else
/// is equal. The error names the place as a JSON pointer, what was expected and what came.
pub(super) fn check(expected: &Value, got: &Value) -> Result<(), String> {
    compare(expected, got, &mut String::new())
}

fn compare(expected: &Value, got: &Value, pointer: &mut String) -> Result<(), String> {
    let length = pointer.len();
    match (expected, got) {
        (Value::Object(expected), Value::Object(got)) => {
            for (name, expected) in expected {
                pointer.push('/');
                pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                let Some(got) = got.get(name) else {
                    return Err(format!(
                        "{}: expected {}, got nothing",
                        shown(pointer),
                        text(expected)
                    ));
                };
                compare(expected, got, pointer)?;
                pointer.truncate(length);
            }
            Ok(())
        }
        (Value::Array(expected), Value::Array(got)) if expected.len() == got.len() => {
            for (index, (expected, got)) in expected.iter().zip(got).enumerate() {
                pointer.push('/');
                pointer.push_str(&index.to_string());
                compare(expected, got, pointer)?;
                pointer.truncate(length);
            }
            Ok(())
        }
        (Value::Array(expected), Value::Array(got)) => Err(format!(
            "{}: expected {} items, got {}",
            shown(pointer),
            expected.len(),
            got.len(),
        )),
        _ if expected == got => Ok(()),
        _ => Err(format!(
            "{}: expected {}, got {}",
            shown(pointer),
            text(expected),
            text(got)
        )),
    }
}

fn shown(pointer: &str) -> &str {
    if pointer.is_empty() { "the body" } else { pointer }
}

fn text(value: &Value) -> String {
    Excerpt(&value.to_string()).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_may_have_more_members_and_arrays_not() {
        let got = json!({"a": {"b": [1, {"c": "x", "d": null}]}, "e/~": true});
        for expected in [
            json!({}),
            json!({"a": {}}),
            json!({"a": {"b": [1, {}]}}),
            json!({"a": {"b": [1, {"d": null}]}, "e/~": true}),
        ] {
            assert_eq!(check(&expected, &got), Ok(()), "{expected}");
        }
        for (expected, error) in [
            (
                json!([]),
                "the body: expected [], got {\"a\":{\"b\":[1,{\"c\":\"x\",\"d\":null}]},\"e/~\":true}",
            ),
            (json!({"a": {"b": [1]}}), "/a/b: expected 1 items, got 2"),
            (
                json!({"a": {"b": [1, {"c": "y"}]}}),
                "/a/b/1/c: expected \"y\", got \"x\"",
            ),
            (json!({"a": {"f": {}}}), "/a/f: expected {}, got nothing"),
            (json!({"e/~": false}), "/e~1~0: expected false, got true"),
        ] {
            assert_eq!(check(&expected, &got), Err(error.to_owned()));
        }
    }

    #[test]
    fn long_values_are_cut() {
        let error = check(&json!("é".repeat(1000)), &json!(null)).unwrap_err();
        assert!(error.len() < 500 && error.ends_with("…, got null"), "{error}");
    }
}
