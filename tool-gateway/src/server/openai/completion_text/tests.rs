//! Completions with calls in their text, streamed in pieces and whole.

use tool_runtime::repair::calls::{Format, Formats};

use super::*;
use crate::upstream::TextCallRules;
use crate::upstream::text_calls::reader::TextCallReader;
use crate::upstream::text_calls::tests::rows::{rows, tools};

fn request() -> Value {
    let tools: Vec<_> = tools()
        .iter()
        .map(
            |(name, schema)| json!({ "type": "function", "function": { "name": name, "parameters": schema } }),
        )
        .collect();
    json!({ "model": "m", "tools": tools, "messages": [] })
}

fn expected_by(request: &Value, formats: Formats) -> Option<ExpectedCalls> {
    let reader = TextCallReader::new(TextCallRules::new(formats));
    reader.expected_in_completion(request.to_string().as_bytes())
}

fn expected(formats: Formats) -> ExpectedCalls {
    expected_by(&request(), formats).unwrap()
}

/// A choice as a client reads it.
#[derive(Debug, Clone, PartialEq, Default)]
struct ReadChoice {
    content: String,
    /// Names and arguments.
    calls: Vec<[String; 2]>,
    finish_reason: Option<String>,
}

impl ReadChoice {
    fn read_whole(completion: &str) -> Self {
        let completion: Value = serde_json::from_str(completion).unwrap();
        let choice = &completion["choices"][0];
        let message = &choice["message"];
        let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
        assert!(
            message["content"].is_string() || !calls.is_empty(),
            "{completion}"
        );
        Self {
            content: message["content"].as_str().unwrap_or_default().to_owned(),
            calls: calls
                .iter()
                .map(|call| {
                    assert_id(call);
                    ["name", "arguments"].map(|key| call["function"][key].as_str().unwrap().to_owned())
                })
                .collect(),
            finish_reason: choice["finish_reason"].as_str().map(str::to_owned),
        }
    }

    fn push(&mut self, choice: &Value) {
        assert_eq!(self.finish_reason, None, "{choice}");
        let delta = &choice["delta"];
        self.content
            .push_str(delta["content"].as_str().unwrap_or_default());
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let index = usize::try_from(call["index"].as_u64().unwrap()).unwrap();
            let arguments = call["function"]["arguments"].as_str().unwrap();
            assert!(arguments.len() <= MAX_ARGUMENTS);
            if index == self.calls.len() {
                assert_id(call);
                self.calls.push([
                    call["function"]["name"].as_str().unwrap().to_owned(),
                    String::new(),
                ]);
            }
            self.calls[index][1].push_str(arguments);
        }
        self.finish_reason = choice["finish_reason"].as_str().map(str::to_owned);
    }
}

#[track_caller]
fn assert_id(call: &Value) {
    let id = call["id"].as_str().unwrap().strip_prefix("call_").unwrap();
    assert!(
        id.len() == 24 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        "{call}"
    );
    assert_eq!(call["type"], "function");
}

/// Reads the choices of a stream.
fn read(stream: &[u8]) -> BTreeMap<u64, ReadChoice> {
    let mut choices = BTreeMap::<u64, ReadChoice>::new();
    for event in std::str::from_utf8(stream).unwrap().split_terminator("\n\n") {
        let data = event.strip_prefix("data: ").unwrap();
        if data == "[DONE]" {
            continue;
        }
        let chunk: Value = serde_json::from_str(data).unwrap();
        assert_eq!(chunk["id"], "chatcmpl-1", "{chunk}");
        for choice in chunk["choices"].as_array().unwrap() {
            choices
                .entry(choice["index"].as_u64().unwrap())
                .or_default()
                .push(choice);
        }
    }
    choices
}

fn chunk(delta: &Value, finish_reason: Option<&str>) -> String {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish_reason });
    let chunk =
        json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m", "choices": [choice] });
    format!("data: {chunk}\n\n")
}

fn edited(stream: &str, expected: &ExpectedCalls) -> Vec<u8> {
    let (mut text, mut out) = (CompletionText::new(expected.clone()), Vec::new());
    text.push(stream.as_bytes(), &mut out);
    text.finish(&mut out);
    out
}

/// Reads a stream whose text arrives in pieces.
fn streamed(pieces: &[&str], expected: &ExpectedCalls) -> ReadChoice {
    let mut stream = chunk(&json!({ "role": "assistant", "content": "" }), None);
    stream.extend(
        pieces
            .iter()
            .map(|piece| chunk(&json!({ "content": piece }), None)),
    );
    stream.push_str(&chunk(&json!({}), Some("stop")));
    stream.push_str("data: [DONE]\n\n");
    read(&edited(&stream, expected)).remove(&0).unwrap()
}

fn completion(text: &str, finish_reason: &str) -> String {
    let message = json!({ "role": "assistant", "content": text, "tool_calls": [] });
    let choice = json!({ "index": 0, "message": message, "finish_reason": finish_reason });
    json!({ "id": "chatcmpl-1", "choices": [choice] }).to_string()
}

fn whole(text: &str, expected: &ExpectedCalls) -> ReadChoice {
    let completion = completion(text, "stop");
    ReadChoice::read_whole(&recovered_completion(&completion, expected).unwrap_or(completion))
}

#[test]
fn every_row_at_every_split_equals_the_whole() {
    let mut recovered = 0;
    for (formats, text) in rows() {
        let calls = expected(formats);
        let expected = whole(&text, &calls);
        if expected.calls.is_empty() {
            assert_eq!(
                (expected.content.as_str(), expected.finish_reason.as_deref()),
                (&*text, Some("stop"))
            );
        } else {
            recovered += 1;
            assert_eq!(expected.finish_reason.as_deref(), Some("tool_calls"));
        }
        for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            let (first, rest) = text.split_at(at);
            assert_eq!(streamed(&[first, rest], &calls), expected, "{first:?} {rest:?}");
        }
        let characters: Vec<String> = text.chars().map(String::from).collect();
        let characters: Vec<&str> = characters.iter().map(String::as_str).collect();
        assert_eq!(streamed(&characters, &calls), expected, "{text:?}");
    }
    assert!(recovered >= 40, "{recovered}");
}

const CALL: &str =
    "I look.\n\n<tool_call>\n{\"name\": \"get_time\", \"arguments\": {\"a\": 1.50}}\n</tool_call>";

#[test]
fn bytes_of_a_stream_in_any_pieces_have_one_result() {
    let calls = expected(Formats::ALL);
    let mut stream = ": comment\n\n".to_owned() + &chunk(&json!({ "content": CALL }), None);
    stream.push_str(&chunk(&json!({}), Some("stop")));
    stream.push_str("data: [DONE]\n\n");
    let without_ids = |out: Vec<u8>| {
        let out = String::from_utf8(out).unwrap();
        let (start, rest) = out.split_once("call_").unwrap();
        format!("{start}{}", &rest[24..])
    };
    let expected = without_ids(edited(&stream, &calls));
    assert!(expected.starts_with(": comment\n\n") && expected.ends_with("data: [DONE]\n\n"));
    let (mut text, mut out) = (CompletionText::new(calls.clone()), Vec::new());
    for byte in stream.as_bytes() {
        text.push(&[*byte], &mut out);
    }
    text.finish(&mut out);
    assert_eq!(without_ids(out), expected);
}

#[test]
fn streams_without_calls_in_text_keep_their_bytes() {
    let calls = expected(Formats::ALL);
    let structured = json!({ "tool_calls": [{ "index": 0, "id": "c", "function": { "name": "get_time", "arguments": "{}" } }] });
    for stream in [
        chunk(&json!({ "content": "The weather is fine." }), None) + &chunk(&json!({}), Some("stop")),
        "data:{ \"choices\" : [ ] , \"usage\": {\"total_tokens\":1.0} }\r\n\r\nevent: x\ndata: later\n\n".to_owned(),
        chunk(&json!({ "content": null, "role": "assistant" }), None) + &chunk(&structured, Some("tool_calls")),
        "data: {\"choices\":[{\"delta\":{\"content\":\"\\ud83d\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"\\ude00\"}}]}\n\n"
            .to_owned(),
        "data: {\"choices\":[{\"delta\":{\"content\":\"cut".to_owned(),
    ] {
        assert_eq!(String::from_utf8(edited(&stream, &calls)).unwrap(), stream);
    }
}

/// Ends of a stream after a text with a call, and whether the call is recovered.
#[test]
fn only_a_text_that_ends_by_itself_has_calls() {
    let calls = expected(Formats::ALL);
    let text = chunk(&json!({ "content": CALL }), None);
    let structured = json!({ "tool_calls": [{ "index": 0, "id": "call_abcdefghijklmnopqrstuvwx", "type": "function",
        "function": { "name": "get_time", "arguments": "{}" } }] });
    for (end, is_recovered) in [
        (chunk(&json!({}), Some("stop")), true),
        (chunk(&json!({ "content": "\n" }), Some("stop")), true),
        (chunk(&json!({ "content": " That is all." }), Some("stop")), false),
        (chunk(&json!({}), Some("length")), false),
        (chunk(&json!({}), Some("content_filter")), false),
        (
            chunk(&structured, None) + &chunk(&json!({}), Some("tool_calls")),
            false,
        ),
        (chunk(&json!({}), None) + "data: [DONE]\n\n", false),
        (String::new(), false),
    ] {
        let read = read(&edited(&(text.clone() + &end), &calls)).remove(&0).unwrap();
        if is_recovered {
            assert_eq!((read.content.as_str(), read.calls.len()), ("I look.", 1), "{end}");
        } else {
            assert!(read.content.starts_with(CALL), "{end}: {read:?}");
            assert!(
                read.calls.iter().all(|[_, arguments]| arguments == "{}"),
                "{read:?}"
            );
        }
    }
    for (finish_reason, is_recovered) in [("stop", true), ("length", false), ("tool_calls", false)] {
        let recovered = recovered_completion(&completion(CALL, finish_reason), &calls);
        assert_eq!(recovered.is_some(), is_recovered, "{finish_reason}");
    }
}

#[test]
fn each_choice_is_read_by_itself() {
    let calls = expected(Formats::ALL);
    let choice = |index: u64, text: &str, finish: Option<&str>| json!({ "index": index, "delta": { "content": text }, "finish_reason": finish });
    let chunk =
        |choices: &[Value]| format!("data: {}\n\n", json!({ "id": "chatcmpl-1", "choices": choices }));
    let stream = chunk(&[choice(0, CALL, None), choice(1, "Yes", None)])
        + &chunk(&[choice(1, " <tool", None)])
        + &chunk(&[choice(0, "", Some("stop")), choice(1, "_box>.", Some("stop"))]);
    let choices = read(&edited(&stream, &calls));
    assert_eq!(
        (choices[&0].content.as_str(), choices[&0].calls.len()),
        ("I look.", 1)
    );
    assert_eq!(
        (choices[&1].content.as_str(), choices[&1].calls.len()),
        ("Yes <tool_box>.", 0)
    );
    assert_eq!(choices[&1].finish_reason.as_deref(), Some("stop"));
}

#[test]
fn the_rest_of_a_whole_completion_keeps_its_text() {
    let text = format!(
        "{{\"id\": \"chatcmpl-1\", \"x\": 1.50,\"choices\":[{{\"index\":0,\"message\":{{\"role\":\"assistant\",\"content\":{}}},\"finish_reason\":\"stop\",\"y\":2e1}}]}}",
        json!("<tool_call>{\"name\": \"get_time\", \"arguments\": {}}</tool_call>")
    );
    let recovered = recovered_completion(&text, &expected(Formats::ALL)).unwrap();
    assert!(
        recovered.contains(r#""x":1.50"#) && recovered.contains(r#""y":2e1"#),
        "{recovered}"
    );
    assert!(recovered.contains(r#""content":null"#), "{recovered}");
    assert_eq!(
        ReadChoice::read_whole(&recovered).calls,
        [["get_time".to_owned(), "{}".to_owned()]]
    );
}

#[test]
fn long_arguments_leave_in_pieces() {
    let path = "é".repeat(20_000);
    let text =
        format!("<tool_call>{{\"name\": \"write\", \"arguments\": {{\"path\": \"{path}\"}}}}</tool_call>");
    let read = streamed(&[&text], &expected(Formats::ALL));
    assert_eq!(
        read.calls,
        [["write".to_owned(), format!("{{\"path\": \"{path}\"}}")]]
    );
}

#[test]
fn requests_without_calls_expect_none() {
    let with = |name: &str, value: Value| {
        let mut request = request();
        request[name] = value;
        request
    };
    let only_json: Formats = [Format::Json].into_iter().collect();
    for (request, formats, is_expected) in [
        (request(), Formats::ALL, true),
        (request(), Formats::NONE, false),
        (with("tools", json!([])), Formats::ALL, false),
        (with("tool_choice", json!("none")), Formats::ALL, false),
        (with("tool_choice", json!("required")), Formats::ALL, true),
        (
            with("response_format", json!({ "type": "json_object" })),
            only_json,
            false,
        ),
        (
            with("response_format", json!({ "type": "json_object" })),
            Formats::ALL,
            true,
        ),
        (
            with("response_format", json!({ "type": "text" })),
            only_json,
            true,
        ),
    ] {
        assert_eq!(expected_by(&request, formats).is_some(), is_expected, "{request}");
    }
    let reader = TextCallReader::new(TextCallRules::new(Formats::ALL).with_models(["qwen*"]));
    assert!(
        reader
            .expected_in_completion(request().to_string().as_bytes())
            .is_none()
    );
    assert!(reader.expected_in_completion(b"{").is_none());
    let single = expected_by(&with("parallel_tool_calls", json!(false)), Formats::ALL).unwrap();
    let two = "<tool_call>[{\"name\": \"get_time\", \"arguments\": {}}, {\"name\": \"get_time\", \"arguments\": {}}]</tool_call>";
    assert_eq!(whole(two, &single).calls.len(), 1);
}
