//! Complete responses that are read from streams: results do not depend on the pieces, are complete or an error, and can be sent back.

use std::fmt::Write;

use serde_json::{Value, json};
use tests::long::long;
use tests::random::Random;
use tool_runtime::format::openai::{chat, responses};
use tool_runtime::format::{StreamError, anthropic};
use tool_runtime::message::Message;
use tool_runtime::repair::repair;
use tool_runtime::repair::stream::Dialect;
use tool_runtime::{ToolCall, ToolOutput, ToolResult};

use super::client_events::blocks;
use super::irregular;
use super::mutated::mutate;
use super::recorded::{folder, recorded};

/// A response in the terms that all APIs share.
#[derive(Debug)]
pub struct Read {
    /// The message or the items.
    pub message: Value,
    pub calls: Vec<ToolCall>,
    pub stop: String,
}

/// Pushes pieces into a reader, and finishes the reader.
macro_rules! read {
    ($reader:expr, $pieces:expr) => {{
        let mut reader = $reader;
        let mut pieces = $pieces.into_iter();
        let pushed = pieces.try_for_each(|piece: &[u8]| reader.push(piece).map(drop));
        pushed.and_then(|()| reader.finish())
    }};
}

pub fn read<'a>(dialect: Dialect, pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Read, StreamError> {
    match dialect {
        Dialect::Anthropic => read!(anthropic::ResponseReader::new(), pieces).map(|response| Read {
            message: serde_json::to_value(&response.message).unwrap(),
            calls: response.calls,
            stop: response.stop_reason,
        }),
        Dialect::ChatCompletions => read!(chat::ResponseReader::new(), pieces).map(|response| Read {
            message: response.message,
            calls: response.calls,
            stop: response.finish_reason.unwrap_or_default(),
        }),
        _ => read!(responses::ResponseReader::new(), pieces).map(|response| Read {
            message: response.output.into(),
            calls: response.calls,
            stop: response.status,
        }),
    }
}

/// `UPDATE_GOLDEN=1` updates the file.
#[test]
fn assembles_recorded_streams_to_the_expected_responses() {
    let mut text = String::new();
    for stream in recorded() {
        let _ = writeln!(text, "{}", stream.name);
        match read(stream.dialect, [&*stream.bytes]) {
            Ok(read) => {
                let _ = writeln!(text, "    {}: {}", read.stop, read.message);
                for call in read.calls {
                    let _ = writeln!(text, "    {} {} {}", call.id, call.name, call.input);
                }
            }
            Err(error) => {
                let _ = writeln!(text, "    error: {error}");
            }
        }
    }
    let file = folder("messages.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(file).unwrap());
}

#[test]
fn response_does_not_depend_on_the_pieces() {
    let alike = |dialect, stream: &[u8], name: &str, sizes: &[usize]| {
        let whole = format!("{:?}", read(dialect, [stream]));
        for size in sizes {
            let pieces = format!("{:?}", read(dialect, stream.chunks(*size)));
            assert_eq!(pieces, whole, "{name} in pieces of {size}");
        }
    };
    for stream in recorded() {
        alike(stream.dialect, &stream.bytes, &stream.name, &[1, 7, 100]);
    }
    let mut random = Random::new(15);
    for round in 0..if long() { 20_000 } else { 300 } {
        let (dialect, stream, _) = irregular::any_stream(&mut random);
        let size = 1 + random.below(200);
        alike(dialect, stream.as_bytes(), &format!("round {round}"), &[size]);
    }
}

/// Lost, doubled or swapped events, and changed bytes: a response or an error, which does not depend on the pieces.
#[test]
fn mutated_streams_do_not_depend_on_the_pieces() {
    let mut random = Random::new(17);
    let (mut read_whole, mut errors) = (0, 0);
    for stream in recorded() {
        for round in 0..if long() { 200 } else { 4 } {
            let bytes = mutate(&stream.bytes, &mut random);
            let whole = read(stream.dialect, [&*bytes]);
            let size = 1 + random.below(40);
            let pieces = read(stream.dialect, bytes.chunks(size));
            assert_eq!(
                format!("{pieces:?}"),
                format!("{whole:?}"),
                "{} round {round}, in pieces of {size}",
                stream.name
            );
            read_whole += usize::from(whole.is_ok());
            errors += usize::from(whole.is_err());
        }
    }
    assert!(read_whole > 50 && errors > 50, "{read_whole} {errors}");
}

/// The stream of a call never becomes another call: all arguments are read, or there is an error, or no tool accepts the text.
#[test]
fn never_splits_a_call_into_two() {
    let mut random = Random::new(16);
    let mut whole = 0;
    let rounds = if long() { 50_000 } else { 1_000 };
    for round in 0..rounds {
        let (dialect, stream, arguments) = irregular::any_stream(&mut random);
        let start = json!({ "type": "message_start", "message": { "role": "assistant" } });
        let stream = match dialect {
            Dialect::Anthropic => format!("data: {start}\n\n{stream}"),
            _ => stream,
        };
        let Ok(read) = read(dialect, [stream.as_bytes()]) else {
            continue;
        };
        for call in read.calls {
            let input = call.input.to_string();
            let is_all = input == arguments || input == repair(&arguments).text;
            whole += usize::from(is_all);
            let is_object =
                serde_json::from_str::<Value>(&repair(&input).text).is_ok_and(|value| value.is_object());
            assert!(
                is_all || !is_object || input == "{}",
                "round {round}: {arguments}\nbecame {input}\nin\n{stream}"
            );
        }
    }
    assert!(whole > rounds / 4, "{whole}");
}

/// Parsed events have the results of their bytes.
#[test]
fn accepts_events_of_another_sse_decoder() {
    let bytes = chat_stream(&["{'a': ", "1}"], "tool_calls");
    let mut reader = chat::ResponseReader::new();
    for event in super::client_events::events(bytes.as_bytes()) {
        reader.push_event(&event).unwrap();
    }
    let pushed = reader.finish().unwrap();
    let read = read(Dialect::ChatCompletions, [bytes.as_bytes()]).unwrap();
    assert_eq!(pushed.message, read.message);
    assert_eq!(pushed.calls[0].input, r#"{"a": 1}"#.into());
}

#[test]
fn truncated_stream_reports_the_missing_part() {
    for (name, dialect, last, missing) in [
        (
            "anthropic_python_dict",
            Dialect::Anthropic,
            "message_stop",
            "`message_stop`",
        ),
        (
            "chat_parallel",
            Dialect::ChatCompletions,
            "finish_reason\":\"",
            "`finish_reason`",
        ),
        (
            "responses_python_dict",
            Dialect::Responses,
            "response.completed",
            "`response.completed`",
        ),
    ] {
        let stream = recorded().into_iter().find(|stream| stream.name == name).unwrap();
        read(dialect, [&*stream.bytes]).unwrap();
        let blocks = blocks(&stream.bytes);
        let end = blocks.iter().position(|block| block.contains(last)).unwrap();
        let mut seen = Vec::new();
        for events in 0..=end {
            let cut = blocks[..events].join("\n\n") + "\n\n";
            match read(dialect, [cut.as_bytes()]) {
                Err(StreamError::Incomplete { missing }) => seen.push(missing),
                other => panic!("{name} after {events} events: {other:?}"),
            }
        }
        assert_eq!(seen.last(), Some(&missing), "{name}");
        if dialect == Dialect::Anthropic {
            seen.dedup();
            assert_eq!(
                seen,
                [
                    "`message_start`",
                    "`message_delta` with a `stop_reason`",
                    "`message_stop`"
                ]
            );
        }
        // Also within an event.
        let bytes = stream.bytes.len() - 40;
        let cut = read(dialect, [&stream.bytes[..bytes]]);
        if dialect != Dialect::ChatCompletions {
            assert!(
                matches!(cut, Err(StreamError::Incomplete { .. })),
                "{name}: {cut:?}"
            );
        }
    }
}

/// Every response that was read can be sent back, with a result for each call, to a strict server.
#[test]
fn converts_every_response_to_a_request() {
    let mut sent = 0;
    for stream in recorded() {
        let Ok(read) = read(stream.dialect, [&*stream.bytes]) else {
            continue;
        };
        let results: Vec<ToolResult> = read
            .calls
            .iter()
            .map(|call| ToolResult::new(&call.id, ToolOutput::text("done")))
            .collect();
        let question = json!({ "role": "user", "content": "?" });
        let (path, request) = match stream.dialect {
            Dialect::Anthropic => {
                let message: Message = serde_json::from_value(read.message.clone()).unwrap();
                let mut messages = vec![question];
                messages.extend((!message.is_empty()).then_some(read.message));
                match results.len() {
                    0 => messages.push(json!({ "role": "user", "content": "Go on." })),
                    _ => messages.push(serde_json::to_value(anthropic::results(&results)).unwrap()),
                }
                let request = json!({ "model": "m", "max_tokens": 9, "messages": messages });
                ("/v1/messages", request)
            }
            Dialect::ChatCompletions => {
                let mut messages = vec![question, read.message];
                messages.extend(results.iter().map(|result| chat::result(result).unwrap()));
                (
                    "/v1/chat/completions",
                    json!({ "model": "m", "messages": messages }),
                )
            }
            _ => {
                let mut input = vec![question];
                input.extend(read.message.as_array().unwrap().iter().cloned());
                input.extend(results.iter().map(|result| responses::result(result).unwrap()));
                ("/v1/responses", json!({ "model": "m", "input": input }))
            }
        };
        let checked = strict_api::check(path, &request, &[]);
        assert_eq!(checked, Ok(()), "{}: {request}", stream.name);
        sent += 1;
    }
    assert!(sent > 90, "{sent}");
}

/// Builds a chat stream of one call, whose arguments have these pieces.
fn chat_stream(pieces: &[&str], reason: &str) -> String {
    let mut calls: Vec<Value> = pieces
        .iter()
        .map(|piece| json!({ "index": 0, "function": { "arguments": piece } }))
        .collect();
    calls[0]["id"] = json!("call_1");
    calls[0]["function"]["name"] = json!("Edit");
    let deltas: Vec<Value> = calls
        .into_iter()
        .map(|call| json!({ "tool_calls": [call] }))
        .collect();
    chat_deltas(&deltas, json!(reason))
}

/// Builds a chat stream with these deltas, and an end.
fn chat_deltas(deltas: &[Value], reason: Value) -> String {
    let chunk = |delta: &Value, reason: &Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        format!(
            "data: {}\n\n",
            json!({ "id": "c", "model": "m", "choices": [choice], "usage": null })
        )
    };
    let mut stream: String = deltas.iter().map(|delta| chunk(delta, &Value::Null)).collect();
    stream += &chunk(&json!({}), &reason);
    stream += "data: {\"choices\":[],\"usage\":{\"total_tokens\":7}}\n\n";
    stream + "data: [DONE]\n\n"
}

fn chat_read(stream: &str) -> Result<chat::Response, StreamError> {
    read!(chat::ResponseReader::new(), [stream.as_bytes()])
}

#[test]
fn keeps_text_reasoning_and_usage_of_a_chat() {
    let stream = chat_deltas(
        &[
            json!({ "role": "assistant", "content": "" }),
            json!({ "reasoning_content": "Hm", "reasoning": "Hm" }),
            json!({ "reasoning_content": "m." }),
            json!({ "content": "No" }),
            json!({ "content": [{ "type": "text", "text": "on." }] }),
        ],
        json!("stop"),
    );
    let mut reader = chat::ResponseReader::new();
    let deltas = reader.push(stream.as_bytes()).unwrap();
    let shown = format!("{deltas:?}");
    assert_eq!(
        shown,
        r#"[Thinking("Hm"), Thinking("m."), Text("No"), Text("on.")]"#
    );
    assert!(reader.is_complete());
    let response = reader.finish().unwrap();
    assert_eq!(
        response.message,
        json!({ "role": "assistant", "content": "Noon.", "reasoning_content": "Hmm.", "reasoning": "Hm" })
    );
    assert_eq!(response.usage["total_tokens"], 7);
    assert_eq!(response.rest["model"], "m");
}

/// Irregular pieces of calls from servers of Chat Completions.
#[test]
fn distinguishes_calls_of_unusual_chats() {
    let call = |id: &str, name: &str, arguments: &str| {
        let function = json!({ "name": name, "arguments": arguments });
        json!({ "id": id, "type": "function", "function": function })
    };
    let with = |mut call: Value, field: &str, value: Value| {
        call[field] = value;
        call
    };
    let (f, g) = (r#"{"a":1}"#, r#"{"b":1}"#);
    for (name, calls, expected) in [
        (
            "an id and a name in each piece",
            vec![
                with(call("x", "f", "{\"a\""), "index", json!(0)),
                with(call("x", "f", ":1}"), "index", json!(0)),
            ],
            vec![("x", "f", f)],
        ),
        (
            "interleaved indexes",
            vec![
                with(call("x", "f", "{\"a\""), "index", json!(0)),
                with(call("y", "g", "{\"b\""), "index", json!(1)),
                json!({ "index": 0, "function": { "arguments": ":1}" } }),
                json!({ "index": 1, "function": { "arguments": ":1}" } }),
            ],
            vec![("x", "f", f), ("y", "g", g)],
        ),
        (
            "no index",
            vec![call("x", "f", f), call("y", "g", g)],
            vec![("x", "f", f), ("y", "g", g)],
        ),
        (
            "index 0 twice",
            vec![
                with(call("x", "f", f), "index", json!(0)),
                with(call("y", "g", g), "index", json!(0)),
            ],
            vec![("x", "f", f), ("y", "g", g)],
        ),
        (
            "a name after the id",
            vec![
                json!({ "index": 0, "id": "x", "type": "function" }),
                json!({ "index": 0, "function": { "name": "f" } }),
                json!({ "index": 0, "function": { "arguments": f } }),
            ],
            vec![("x", "f", f)],
        ),
        (
            "arguments that are an object",
            vec![json!({ "index": 0, "id": "x", "function": { "name": "f", "arguments": { "a": 1 } } })],
            vec![("x", "f", f)],
        ),
        (
            "one id for two calls",
            vec![
                with(call("x", "f", f), "index", json!(0)),
                with(call("x", "g", g), "index", json!(1)),
            ],
            vec![("x", "f", f), ("call_1", "g", g)],
        ),
        (
            "empty ids",
            vec![
                with(call("", "f", f), "index", json!(0)),
                with(call("", "g", g), "index", json!(1)),
            ],
            vec![("call_0", "f", f), ("call_1", "g", g)],
        ),
        (
            "no arguments",
            vec![json!({ "index": 0, "id": "x", "function": { "name": "f" } })],
            vec![("x", "f", "{}")],
        ),
    ] {
        let deltas: Vec<Value> = calls
            .into_iter()
            .map(|call| json!({ "tool_calls": [call] }))
            .collect();
        for reason in ["tool_calls", "stop"] {
            let response = chat_read(&chat_deltas(&deltas, json!(reason))).unwrap();
            let calls: Vec<(String, String, String)> = response
                .calls
                .iter()
                .map(|call| (call.id.clone(), call.name.clone(), call.input.to_string()))
                .collect();
            let calls: Vec<(&str, &str, &str)> = calls
                .iter()
                .map(|(id, name, input)| (&**id, &**name, &**input))
                .collect();
            assert_eq!(calls, expected, "{name}");
        }
    }
}

#[test]
fn message_omits_a_truncated_call() {
    let cut = chat_read(&chat_stream(&["{\"a\": [1, 2"], "length")).unwrap();
    assert!(cut.is_cut_off() && cut.calls.is_empty());
    assert_eq!(cut.message, json!({ "role": "assistant", "content": "" }));

    let complete = chat_read(&chat_stream(&["{\"a\": [1, 2]}"], "length")).unwrap();
    assert_eq!(complete.calls.len(), 1);

    // The model believes that the call is complete, and must learn that it is not.
    let broken = chat_read(&chat_stream(&["{\"a\": [1, 2"], "tool_calls")).unwrap();
    assert_eq!(broken.calls[0].input, "{\"a\": [1, 2".into());
    assert_eq!(broken.message["tool_calls"][0]["function"]["arguments"], "{}");
}

#[test]
fn reports_errors_in_streams() {
    let chat = "data: {\"error\":{\"message\":\"out of memory\",\"code\":500}}\n\n";
    let error = chat_read(chat).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the API reported an error: out of memory (500)"
    );
    let error = chat_read("event: error\ndata: {\"detail\":\"no\"}\n\n").unwrap_err();
    assert!(matches!(error, StreamError::Api { .. }), "{error}");

    let anthropic = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let error = read(Dialect::Anthropic, [anthropic.as_bytes()]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the API reported an error: Overloaded (overloaded_error)"
    );

    let failed = json!({ "type": "response.failed", "response": { "error": { "code": "server_error", "message": "no" } } });
    let error = read(Dialect::Responses, [format!("data: {failed}\n\n").as_bytes()]).unwrap_err();
    assert_eq!(error.to_string(), "the API reported an error: no (server_error)");

    let invalid = read(Dialect::Anthropic, [&b"data: {\"type\n\n"[..]]).unwrap_err();
    assert!(matches!(invalid, StreamError::InvalidEvent { .. }), "{invalid}");
}

/// A body and its stream are equal responses.
#[test]
fn reads_complete_bodies_like_streams() {
    let streamed = chat_read(&chat_stream(&["{\"a\": 1}"], "tool_calls")).unwrap();
    let choice = json!({ "index": 0, "message": streamed.message, "finish_reason": "tool_calls" });
    let body = json!({ "id": "c", "model": "m", "choices": [choice], "usage": { "total_tokens": 7 } });
    let whole = chat::Response::try_from(body).unwrap();
    assert_eq!(format!("{whole:?}"), format!("{streamed:?}"));

    let content = json!([
        { "type": "thinking", "thinking": "", "signature": "s" },
        { "type": "text", "text": "\n\n" },
        { "type": "tool_use", "id": "toolu_1", "name": "f", "input": { "a": 1 } },
    ]);
    let body = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
        "stop_reason": "tool_use", "stop_sequence": null, "usage": { "output_tokens": 5 },
    });
    let whole = anthropic::Response::try_from(serde_json::from_value::<Message>(body).unwrap()).unwrap();
    assert_eq!(
        serde_json::to_value(&whole.message).unwrap(),
        json!({ "role": "assistant", "content": [content[0], content[2]] })
    );
    assert_eq!((whole.rest["id"].as_str(), whole.calls.len()), (Some("msg_1"), 1));

    let call = json!({ "type": "function_call", "call_id": "c", "name": "f", "arguments": "{'a': 1}", "status": "completed" });
    let whole = responses::Response::try_from(json!({ "status": "completed", "output": [call] })).unwrap();
    assert_eq!(whole.output[0]["arguments"], r#"{"a": 1}"#);
    assert_eq!(
        whole.calls[0].input,
        "{'a': 1}".into(),
        "the registry repairs it, and records that"
    );
}
