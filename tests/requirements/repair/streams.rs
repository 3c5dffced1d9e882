//! Repair in streams: the repaired calls, the time at which arguments are sent, and unrepairable calls.

use tool_runtime::repair::stream::{Dialect, StreamRepairer};
use tool_runtime::repair::{FormatFixing, Status};

use super::{RIGHT, WRONG, arguments, every_tool, repaired, repaired_example, stream};

/// R-STR-2, R-STR-6
#[test]
fn other_text_and_other_tools_pass_unchanged() {
    let content = format!(
        "data: {}\n\n",
        serde_json::json!({ "choices": [{ "index": 0, "delta": { "content": WRONG } }] })
    );
    assert_eq!(repaired(&content, FormatFixing::default()).0, content);
    for fragments in [&[WRONG][..], &["{'a': 1", ", not json"]] {
        let other = stream("Search", fragments, "tool_calls");
        assert_eq!(repaired(&other, FormatFixing::default()), (other, vec![]));
    }
}

/// R-STR-3
#[test]
fn arguments_are_held_from_the_first_invalid_byte() {
    let whole = stream(
        "TodoWrite",
        &["{\"todos\": [", "{'content': 'x'", "}]}"],
        "tool_calls",
    );
    let last_event = whole.find(r#""delta":{}"#).unwrap();
    let (before, _) = whole.split_at(whole[..last_event].rfind("data: ").unwrap());
    let mut repairer = StreamRepairer::new(Dialect::ChatCompletions, FormatFixing::default());
    let mut out = Vec::new();
    repairer.push(before.as_bytes(), &mut out);
    assert_eq!(arguments(std::str::from_utf8(&out).unwrap()), "{\"todos\": [{");
    repairer.push(&whole.as_bytes()[before.len()..], &mut out);
    assert_eq!(
        arguments(std::str::from_utf8(&out).unwrap()),
        r#"{"todos": [{"content": "x"}]}"#
    );
}

/// R-STR-4
#[test]
fn complete_call_is_repaired_validated_and_recorded() {
    let (out, records) = repaired_example(FormatFixing::default());
    assert_eq!(arguments(&out), RIGHT);
    assert_eq!(records.len(), 1);
    assert_eq!(
        (records[0].status, records[0].validated, records[0].tool.as_str()),
        (Status::Repaired, true, "TodoWrite")
    );
    // All arguments are sent before the event that completes the call.
    let done = out.find(r#""finish_reason":"tool_calls""#).unwrap();
    assert_eq!(arguments(&out[..done]), RIGHT);
}

/// R-STR-1
#[test]
fn fragment_may_end_at_an_opening_quote() {
    assert_fragments_repaired(&["{'content': '", "x'}"], r#"{"content": "x"}"#);
}

/// R-STR-1
#[test]
fn fragment_may_hold_the_quotes_between_two_values() {
    assert_fragments_repaired(
        &["{'content': '", "x", "', 'id': '", "1'}"],
        r#"{"content": "x", "id": "1"}"#,
    );
}

/// R-STR-1
#[test]
fn fragment_may_begin_at_a_closing_quote() {
    assert_fragments_repaired(
        &["{\"todos\": [{'content': 'x", "'}", "]}"],
        r#"{"todos": [{"content": "x"}]}"#,
    );
}

/// R-STR-7
#[test]
fn variants_of_the_stream_format_are_accepted() {
    // A call without an index, with arguments in one fragment, `finish_reason` "stop", and without `[DONE]`.
    let text = stream("TodoWrite", &["{'a': 1}"], "stop")
        .replace("\"index\":0,\"function\"", "\"function\"")
        .replace("data: [DONE]\n\n", "");
    assert_eq!(
        arguments(&repaired(&text, FormatFixing::default()).0),
        r#"{"a": 1}"#
    );
}

/// R-STR-5
#[test]
fn valid_arguments_are_unchanged() {
    let text = stream(
        "TodoWrite",
        &[r#"{"todos": [{"content": "#, r#""it's", "n": 1.0}]}"#],
        "tool_calls",
    );
    let (out, records) = repaired(&text, every_tool());
    assert_eq!(arguments(&out), arguments(&text));
    assert!(records.is_empty());
}

/// R-STR-8
#[test]
fn arguments_that_cannot_be_repaired_are_sent_unchanged() {
    let sent = "{'a': f'{x}'}";
    let (out, records) = repaired(
        &stream("TodoWrite", &[sent], "tool_calls"),
        FormatFixing::default(),
    );
    assert_eq!(arguments(&out), sent);
    assert_eq!(records[0].status, Status::Refused);
}

/// R-STR-5
#[test]
fn valid_stream_is_unchanged() {
    // No fragment ends at a byte that must be held, so no event is changed.
    let fragments = [
        "{\"todos\": [",
        "{\"content\": \"x, 'y': 'z'",
        "\", \"done\": true}",
        "]}",
    ];
    let text = stream("TodoWrite", &fragments, "tool_calls");
    assert_eq!(repaired(&text, every_tool()).0, text);
}

/// R-STR-10
#[test]
fn events_of_a_repaired_stream_are_valid() {
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

/// R-STR-9
#[test]
fn arguments_that_are_cut_off_are_sent_unchanged() {
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

/// Checks that the arguments of a stream with these fragments are repaired to this result.
fn assert_fragments_repaired(fragments: &[&str], result: &str) {
    let (out, _) = repaired(
        &stream("TodoWrite", fragments, "tool_calls"),
        FormatFixing::default(),
    );
    assert_eq!(arguments(&out), result);
}
