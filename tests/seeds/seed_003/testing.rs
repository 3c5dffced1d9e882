//! 测试策略: the three kinds of tests, each with an example; the rest of them is `tests/repair`.

use std::time::{Duration, Instant};

use tool_runtime::repair::{FormatFixing, Status, repair};

use super::{WRONG, arguments, becomes, every_tool, repaired, stream};

#[test]
fn unit_accuracy() {
    let repaired =
        repair("{'s': 'a', 'n': None, 't': True, 'f': False, 'l': ['b', (1,)], 'i': -1, 'x': 1.5}");
    assert_eq!(
        repaired.text,
        r#"{"s": "a", "n": null, "t": true, "f": false, "l": ["b", [1]], "i": -1, "x": 1.5}"#
    );
}

#[test]
fn unit_boundaries() {
    for (text, result) in [
        ("{'a': {'b': [{'c': {}}]}}", r#"{"a": {"b": [{"c": {}}]}}"#),
        (r"{'a': '\'\\\n\x41\u4e2d'}", r#"{"a": "'\\\nA\u4e2d"}"#),
        ("{'a': ''}", r#"{"a": ""}"#),
    ] {
        becomes(text, result);
    }
}

#[test]
fn unit_performance() {
    let item = "{'content': '创建项目结构和主程序文件', 'id': '1', 'status': 'in_progress'}";
    let text = format!("{{'todos': [{}]}}", [item; 10_000].join(", "));
    let started = Instant::now();
    assert_eq!(repair(&text).status, Status::Repaired);
    assert!(
        started.elapsed() < Duration::from_secs(5),
        "{:?}",
        started.elapsed()
    );
}

#[test]
fn integration_end_to_end() {
    let text = stream("TodoWrite", &[WRONG], "tool_calls");
    let (out, _) = repaired(&text, FormatFixing::default());
    assert!(out.ends_with("data: [DONE]\n\n"));
    for line in out
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .filter(|data| *data != "[DONE]")
    {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
}

#[test]
fn integration_cut_off() {
    for (sent, finish_reason) in [
        ("{'a': 'b", "length"),
        ("{'a': 'b'}", "length"),
        ("{'a': 'b", "stop"),
    ] {
        let (out, records) = repaired(
            &stream("TodoWrite", &[sent], finish_reason),
            FormatFixing::default(),
        );
        assert_eq!(
            (arguments(&out).as_str(), records[0].status),
            (sent, Status::Truncated)
        );
    }
}

#[test]
fn regression_right_format() {
    // No fragment ends where a byte must be held: not one event is touched.
    let fragments = [
        "{\"todos\": [",
        "{\"content\": \"x, 'y': 'z'",
        "\", \"done\": true}",
        "]}",
    ];
    let text = stream("TodoWrite", &fragments, "tool_calls");
    assert_eq!(repaired(&text, every_tool()).0, text);
}

#[test]
fn regression_other_tools() {
    let text = stream("Search", &["{'a': 1", ", not json"], "stop");
    assert_eq!(repaired(&text, FormatFixing::default()), (text, vec![]));
}
