//! § 4: the conversion of quotes, state by state.

use tool_runtime::repair::{Status, repair};

use super::becomes;

#[test]
fn conversion_pattern_single_pair() {
    becomes("{'key': 'value'}", r#"{"key": "value"}"#);
}

#[test]
fn conversion_pattern_pair_inside() {
    becomes(
        r#"{"a": 1, 'key':   'value', "b": 2}"#,
        r#"{"a": 1, "key":   "value", "b": 2}"#,
    );
}

#[test]
fn conversion_pattern_list_start() {
    becomes("[{'key': 'value'}]", r#"[{"key": "value"}]"#);
}

#[test]
fn conversion_rule_contents_kept() {
    // A quote of the text is not one of the structure.
    becomes(
        r#"{'a': "it's", 'b': 'say "hi"', 'c': 'don\'t', 'd': "{'x': 1}"}"#,
        r#"{"a": "it's", "b": "say \"hi\"", "c": "don't", "d": "{'x': 1}"}"#,
    );
}

#[test]
fn conversion_state_1_key_follows() {
    becomes("{'a': 1,'b': 2 , 'c': 3}", r#"{"a": 1,"b": 2 , "c": 3}"#);
}

#[test]
fn conversion_state_3_key_contents() {
    becomes(r#"{'a, b: {"c"}': 1}"#, r#"{"a, b: {\"c\"}": 1}"#);
}

#[test]
fn conversion_state_4_colon_follows() {
    becomes("{'a' : 'b'}", r#"{"a" : "b"}"#);
    assert_eq!(repair("{'a' 'b'}").status, Status::Refused);
}

#[test]
fn conversion_state_6_value_contents() {
    becomes("{'a': 'b: c, {d} [e]'}", r#"{"a": "b: c, {d} [e]"}"#);
}
