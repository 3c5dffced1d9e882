//! Conversion of single quotes and of Python's literals.

use tool_runtime::repair::{Status, repair};

use super::assert_repaired;

/// R-REP-2
#[test]
fn repairs_a_single_pair() {
    assert_repaired("{'key': 'value'}", r#"{"key": "value"}"#);
}

/// R-REP-3
#[test]
fn repairs_a_pair_between_valid_pairs() {
    assert_repaired(
        r#"{"a": 1, 'key':   'value', "b": 2}"#,
        r#"{"a": 1, "key":   "value", "b": 2}"#,
    );
}

/// R-REP-4
#[test]
fn repairs_a_pair_in_a_list() {
    assert_repaired("[{'key': 'value'}]", r#"[{"key": "value"}]"#);
}

/// R-REP-5
#[test]
fn quotes_inside_of_strings_are_kept() {
    assert_repaired(
        r#"{'a': "it's", 'b': 'say "hi"', 'c': 'don\'t', 'd': "{'x': 1}"}"#,
        r#"{"a": "it's", "b": "say \"hi\"", "c": "don't", "d": "{'x': 1}"}"#,
    );
}

/// R-REP-6
#[test]
fn key_begins_after_a_brace_or_a_comma() {
    assert_repaired("{'a': 1,'b': 2 , 'c': 3}", r#"{"a": 1,"b": 2 , "c": 3}"#);
}

/// R-REP-7
#[test]
fn key_ends_at_its_closing_quote() {
    assert_repaired(r#"{'a, b: {"c"}': 1}"#, r#"{"a, b: {\"c\"}": 1}"#);
}

/// R-REP-20
#[test]
fn colon_must_follow_a_key_unless_another_pair_has_one() {
    assert_repaired("{'a' : 'b'}", r#"{"a" : "b"}"#);
    assert_repaired(r#"{"a" "b", "c": 1}"#, r#"{"a": "b", "c": 1}"#);
    for text in [
        "{'a' 'b'}",
        r#"{"a" "b"}"#,
        "{'a' 'b', 'c': 1}",
        r#"{"a" "b", "c" 1}"#,
    ] {
        assert_eq!(repair(text).status, Status::Refused, "{text}");
    }
}

/// R-REP-9
#[test]
fn value_ends_at_its_closing_quote() {
    assert_repaired("{'a': 'b: c, {d} [e]'}", r#"{"a": "b: c, {d} [e]"}"#);
}

/// R-REP-10
#[test]
fn nesting_escapes_and_empty_strings_are_repaired() {
    for (text, result) in [
        ("{'a': {'b': [{'c': {}}]}}", r#"{"a": {"b": [{"c": {}}]}}"#),
        (r"{'a': '\'\\\n\x41\u4e2d'}", r#"{"a": "'\\\nA\u4e2d"}"#),
        ("{'a': ''}", r#"{"a": ""}"#),
    ] {
        assert_repaired(text, result);
    }
}

/// R-REP-11
#[test]
fn python_literals_become_json() {
    let repaired =
        repair("{'s': 'a', 'n': None, 't': True, 'f': False, 'l': ['b', (1,)], 'i': -1, 'x': 1.5}");
    assert_eq!(
        repaired.text,
        r#"{"s": "a", "n": null, "t": true, "f": false, "l": ["b", [1]], "i": -1, "x": 1.5}"#
    );
}
