//! Complete streamed responses with deviations of servers at the end: additional events, calls without arguments, changed ids.

use serde_json::{Value, json};
use tool_runtime::format::openai::responses;
use tool_runtime::format::{Delta, StreamError};
use tool_runtime::message::Message;
use tool_runtime::repair::stream::Dialect;

use super::complete_responses::{Read, read};
use super::recorded::recorded;

fn sse(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn read_events(dialect: Dialect, events: &[Value]) -> Result<Read, StreamError> {
    read(dialect, [sse(events).as_bytes()])
}

/// Returns the names and the arguments of the calls.
fn called(read: &Read) -> Vec<(String, String)> {
    let calls = read.calls.iter();
    calls
        .map(|call| (call.name.clone(), call.input.to_string()))
        .collect()
}

/// Builds a Messages stream with these blocks: the block at its start, and the pieces of its `input`.
fn anthropic(blocks: &[(Value, &[&str])], stop_reason: &str) -> Vec<Value> {
    let mut events =
        vec![json!({ "type": "message_start", "message": { "role": "assistant", "content": [] } })];
    for (index, (block, pieces)) in blocks.iter().enumerate() {
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": block }));
        for piece in *pieces {
            let delta = json!({ "type": "input_json_delta", "partial_json": piece });
            events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        }
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": stop_reason } }));
    events.push(json!({ "type": "message_stop" }));
    events
}

fn tool_use(id: &str, name: &str) -> Value {
    json!({ "type": "tool_use", "id": id, "name": name, "input": {} })
}

#[test]
fn ignores_events_without_data_and_after_the_end() {
    let mut compared = 0;
    for stream in recorded() {
        let Ok(whole) = read(stream.dialect, [&*stream.bytes]) else {
            continue;
        };
        let Ok(text) = String::from_utf8(stream.bytes.clone()) else {
            continue;
        };
        let blank = text
            .replace("\n\n", "\n\ndata:\n\n")
            .replace("\r\n\r\n", "\r\n\r\ndata: \r\n\r\n");
        let done = text + "\n\ndata: [DONE]\n\n";
        for text in [blank, done] {
            let read = read(stream.dialect, [text.as_bytes()]);
            assert_eq!(format!("{read:?}"), format!("Ok({whole:?})"), "{}", stream.name);
            compared += 1;
        }
    }
    assert!(compared > 150, "{compared}");

    let mut events = anthropic(&[(tool_use("toolu_1", "now"), &["{\"a\": 1}"])], "tool_use");
    let whole = read_events(Dialect::Anthropic, &events).unwrap();
    events.extend(anthropic(&[(tool_use("toolu_2", "now"), &["{}"])], "max_tokens"));
    events.push(json!({ "type": "error", "error": { "type": "api_error", "message": "late" } }));
    let read = read_events(Dialect::Anthropic, &events).unwrap();
    assert_eq!(format!("{read:?}"), format!("{whole:?}"));
}

#[test]
fn response_omits_a_call_truncated_before_its_arguments() {
    let first = ("now".to_owned(), "{}".to_owned());
    for stop in ["max_tokens", "model_context_window_exceeded"] {
        for pieces in [&[][..], &[""], &[" "]] {
            let blocks = [
                (tool_use("toolu_1", "now"), &[][..]),
                (tool_use("toolu_2", "remove"), pieces),
            ];
            let read = read_events(Dialect::Anthropic, &anthropic(&blocks, stop)).unwrap();
            assert_eq!(called(&read), std::slice::from_ref(&first), "{stop} {pieces:?}");
            assert_eq!(read.message["content"].as_array().unwrap().len(), 1);
        }
    }
    let with_text = [
        (tool_use("toolu_1", "now"), &[][..]),
        (json!({ "type": "text", "text": "And" }), &[]),
    ];
    let read = read_events(Dialect::Anthropic, &anthropic(&with_text, "max_tokens")).unwrap();
    assert_eq!(called(&read), [first], "a text follows it");
    let chunk = |index: u64, name: &str, reason: Option<&str>| {
        let function = json!({ "name": name, "arguments": "" });
        let call = json!({ "index": index, "id": name, "type": "function", "function": function });
        let delta = if name.is_empty() {
            json!({})
        } else {
            json!({ "tool_calls": [call] })
        };
        json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] })
    };
    for (reason, calls) in [("length", 1), ("tool_calls", 2)] {
        let events = [
            chunk(0, "now", None),
            chunk(1, "remove", None),
            chunk(0, "", Some(reason)),
        ];
        let read = read_events(Dialect::ChatCompletions, &events).unwrap();
        assert_eq!(called(&read).len(), calls, "{reason}");
        assert_eq!(read.message["tool_calls"].as_array().unwrap().len(), calls);
    }

    let item = |name: &str| json!({ "type": "function_call", "id": name, "call_id": name, "name": name, "arguments": "" });
    let added = |index: u64, name: &str| json!({ "type": "response.output_item.added", "output_index": index, "item": item(name) });
    for (status, calls) in [("incomplete", 1), ("completed", 2)] {
        for output in [json!([]), json!([item("now"), item("remove")])] {
            let body = json!({ "status": status, "output": output });
            let end = json!({ "type": format!("response.{status}"), "response": body });
            let read = read_events(Dialect::Responses, &[added(0, "now"), added(1, "remove"), end]).unwrap();
            assert_eq!(called(&read).len(), calls, "{status} {output}");
            assert_eq!(read.message.as_array().unwrap().len(), calls);
            if output != json!([]) {
                let whole = responses::Response::try_from(body).unwrap();
                assert_eq!(whole.calls.len(), calls, "a body, {status}");
            }
        }
    }
}

#[test]
fn response_without_content_is_an_empty_message() {
    let text = |text: &str| json!({ "type": "text", "text": text });
    for (blocks, is_empty) in [
        (vec![], true),
        (vec![text("")], true),
        (vec![text("\n\n")], true),
        (vec![text("Noon.")], false),
        (vec![tool_use("toolu_1", "now")], false),
    ] {
        let blocks: Vec<(Value, &[&str])> = blocks.into_iter().map(|block| (block, &[][..])).collect();
        let read = read_events(Dialect::Anthropic, &anthropic(&blocks, "end_turn")).unwrap();
        let message: Message = serde_json::from_value(read.message.clone()).unwrap();
        assert_eq!(message.is_empty(), is_empty, "{}", read.message);
        if is_empty {
            let user = json!({ "role": "user", "content": "?" });
            let messages = json!([user, read.message, user]);
            let request = json!({ "model": "m", "max_tokens": 9, "messages": messages });
            let refused = strict_api::check("/v1/messages", &request, &[]).unwrap_err();
            assert!(refused.contains("non-empty content"), "{refused}");
        }
    }
}

/// <https://github.com/vllm-project/vllm/pull/47916>
#[test]
fn returns_a_call_repeated_with_another_id_once() {
    let item = |item: &str, id: &str, arguments: &str| {
        json!({
            "type": "function_call", "id": item, "call_id": id, "name": "now", "arguments": arguments, "status": "completed",
        })
    };
    let streamed = |index: u64, id: &str, arguments: &str| {
        let own = format!("fc_{index}");
        [
            json!({ "type": "response.output_item.added", "output_index": index, "item": item(&own, id, "") }),
            json!({
                "type": "response.function_call_arguments.delta", "output_index": index, "item_id": own, "delta": arguments,
            }),
            json!({ "type": "response.output_item.done", "output_index": index, "item": item(&own, id, arguments) }),
        ]
    };
    let (one, two) = (r#"{"a": 1}"#, r#"{"a": 2}"#);
    let cases = [
        ("another id", vec![("a", one)], vec![("x", one)], vec![("x", one)]),
        (
            "other spaces",
            vec![("a", one)],
            vec![("x", "{\"a\":1}")],
            vec![("x", one)],
        ),
        (
            "repaired",
            vec![("a", "{'a': 1}")],
            vec![("x", "{'a': 1}")],
            vec![("x", one)],
        ),
        (
            "two equal calls",
            vec![("a", one), ("b", one)],
            vec![("x", one), ("y", one)],
            vec![("x", one), ("y", one)],
        ),
        (
            "one of two has another id",
            vec![("a", one), ("b", one)],
            vec![("x", one), ("a", one)],
            vec![("x", one), ("a", one)],
        ),
        (
            "other arguments",
            vec![("a", one), ("b", two)],
            vec![("x", two), ("y", one)],
            vec![("x", two), ("y", one)],
        ),
        (
            "only at the end",
            vec![],
            vec![("x", "{'a': 1}")],
            vec![("x", one)],
        ),
        (
            "one is not at the end",
            vec![("a", one), ("b", two)],
            vec![("x", one)],
            vec![("x", one), ("b", two)],
        ),
    ];
    for ((name, sent, output, expected), prefix) in
        cases.iter().flat_map(|case| [(case, "fc_"), (case, "other_")])
    {
        let mut events: Vec<Value> = Vec::new();
        for (index, (id, arguments)) in (0..).zip(sent) {
            events.extend(streamed(index, id, arguments));
        }
        let output = (0..).zip(output);
        let output: Vec<Value> = output
            .map(|(index, (id, arguments)): (u64, _)| item(&format!("{prefix}{index}"), id, arguments))
            .collect();
        let body = json!({ "status": "completed", "output": output });
        events.push(json!({ "type": "response.completed", "response": body }));
        let mut reader = responses::ResponseReader::new();
        let deltas = reader.push(sse(&events).as_bytes()).unwrap();
        let response = reader.finish().unwrap();
        let calls: Vec<(String, String)> = response
            .calls
            .iter()
            .map(|call| (call.id.clone(), call.input.to_string()))
            .collect();
        let calls: Vec<(&str, &str)> = calls.iter().map(|(id, input)| (&**id, &**input)).collect();
        assert_eq!(&calls, expected, "{name}");
        assert_eq!(response.output.len(), calls.len(), "{name}");
        let begun = deltas.iter().filter(|delta| matches!(delta, Delta::Call { .. }));
        assert_eq!(begun.count(), calls.len(), "{name}: each call is shown once");
    }
}
