//! § 3: when a call is looked at.

use tool_runtime::repair::{FormatFixing, Status};

use super::{RIGHT, WRONG, arguments, example_in_a_stream, repaired, stream};

#[test]
fn detection_time_call_begins() {
    // Only where there are `tool_calls` of a target's name: the same text as content, or in another call, passes.
    let content = format!(
        "data: {}\n\n",
        serde_json::json!({ "choices": [{ "index": 0, "delta": { "content": WRONG } }] })
    );
    assert_eq!(repaired(&content, FormatFixing::default()).0, content);
    let other = stream("Search", &[WRONG], "tool_calls");
    assert_eq!(repaired(&other, FormatFixing::default()).0, other);
}

#[test]
fn detection_time_arguments_grow() {
    // What is JSON so far leaves at once; from the first byte that is not, nothing does before the end.
    let whole = stream(
        "TodoWrite",
        &["{\"todos\": [", "{'content': 'x'", "}]}"],
        "tool_calls",
    );
    let (before, _) = whole.split_once("data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},").unwrap();
    let mut repairer = tool_runtime::repair::stream::StreamRepairer::new(
        tool_runtime::repair::stream::Dialect::ChatCompletions,
        FormatFixing::default(),
    );
    let mut out = Vec::new();
    repairer.push(before.as_bytes(), &mut out);
    assert_eq!(arguments(std::str::from_utf8(&out).unwrap()), "{\"todos\": [{");
    repairer.push(&whole.as_bytes()[before.len()..], &mut out);
    assert_eq!(
        arguments(std::str::from_utf8(&out).unwrap()),
        r#"{"todos": [{"content": "x"}]}"#
    );
}

#[test]
fn detection_time_call_complete() {
    let (out, records) = example_in_a_stream(FormatFixing::default());
    assert_eq!(arguments(&out), RIGHT);
    assert_eq!(records.len(), 1);
    assert_eq!(
        (records[0].status, records[0].validated, records[0].tool.as_str()),
        (Status::Repaired, true, "TodoWrite")
    );
    // The rest came before the event that says that the call is complete.
    let done = out.find(r#""finish_reason":"tool_calls""#).unwrap();
    assert_eq!(arguments(&out[..done]), RIGHT);
}
