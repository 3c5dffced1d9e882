//! § 5 and 风险评估: performance, safety, compatibility.

use std::borrow::Cow;

use tool_runtime::repair::{FormatFixing, Repairer, Status, repair};

use super::{WRONG, arguments, every_tool, example_in_a_stream, repaired, stream};

#[test]
fn performance_rule_on_demand() {
    // A stream without a call of a target passes as it is.
    let text = stream("Search", &["{'a'", ": 1}"], "tool_calls");
    let (out, records) = repaired(&text, FormatFixing::default());
    assert_eq!((out, records.len()), (text, 0));
}

#[test]
fn performance_rule_incremental() {
    let mut repairer = Repairer::new();
    assert_eq!(
        repairer.push(r#"{"todos": [{"content": "x"#),
        r#"{"todos": [{"content": "x"#
    );
    assert_eq!(repairer.push(r#"y", "#), r#"y""#);
    assert_eq!(repairer.push(r#""id": 1}]}"#), r#", "id": 1}]}"#);
    assert_eq!(repairer.finish().status, Status::Valid);
}

#[test]
fn performance_rule_seen_once() {
    // The cache of the seed: what was found to be right is never looked at again, nor copied.
    let text = r#"{"todos": []}"#;
    assert!(matches!(repair(text).text, Cow::Borrowed(same) if std::ptr::eq(same, text)));
}

#[test]
fn safety_rule_result_validated() {
    for text in [WRONG, "{'a': (1, 2,)}", "{'a': '\u{1}'}", "{'a': 0x1F}"] {
        let repaired = repair(text);
        assert_eq!(repaired.status, Status::Repaired, "{text}");
        serde_json::from_str::<serde::de::IgnoredAny>(&repaired.text).unwrap();
    }
}

#[test]
fn safety_rule_nothing_lost() {
    let text = "{'n': 123456789012345678901234567890, 'n': 1.50, 'é\u{1f600}': 'a\\tb\\\\c'}";
    assert_eq!(
        repair(text).text,
        "{\"n\": 123456789012345678901234567890, \"n\": 1.50, \"é\u{1f600}\": \"a\\tb\\\\c\"}"
    );
}

#[test]
fn safety_rule_original_on_failure() {
    for text in ["{'a': f'{x}'}", "{'a': 'b''c': 'd'}", "{'a': 1]", "{'a': nan}"] {
        let repaired = repair(text);
        assert_eq!((&*repaired.text, repaired.status), (text, Status::Refused));
        assert!(repaired.reason.is_some());
    }
}

#[test]
fn compatibility_rule_several_models() {
    // No index, arguments all in one piece, a call that ends with "stop", no `[DONE]`.
    let text = stream("TodoWrite", &["{'a': 1}"], "stop")
        .replace("\"index\":0,\"function\"", "\"function\"")
        .replace("data: [DONE]\n\n", "");
    assert_eq!(
        arguments(&repaired(&text, FormatFixing::default()).0),
        r#"{"a": 1}"#
    );
}

#[test]
fn compatibility_rule_right_calls_unchanged() {
    let text = stream(
        "TodoWrite",
        &[r#"{"todos": [{"content": "#, r#""it's", "n": 1.0}]}"#],
        "tool_calls",
    );
    let (out, records) = repaired(&text, every_tool());
    assert_eq!(arguments(&out), arguments(&text));
    assert!(records.is_empty());
}

#[test]
fn compatibility_rule_degrades() {
    let sent = "{'a': f'{x}'}";
    let (out, records) = repaired(
        &stream("TodoWrite", &[sent], "tool_calls"),
        FormatFixing::default(),
    );
    assert_eq!(arguments(&out), sent);
    assert_eq!(records[0].status, Status::Refused);
}

#[test]
fn risk_mitigation_logged() {
    let (_, records) = example_in_a_stream(FormatFixing::default());
    let fixes: Vec<_> = records[0]
        .fixes
        .first()
        .iter()
        .map(|fix| (fix.code.as_str(), fix.offset))
        .collect();
    let first = WRONG.find('\'').unwrap();
    assert_eq!((fixes.len(), fixes[0]), (6, ("single_quotes", first)));
}
