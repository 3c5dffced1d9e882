//! Messages with calls in their text, streamed in pieces and whole.

mod pieces;
pub(crate) mod rows;

use serde_json::{Map, Value, json};
use tool_runtime::repair::calls::{Format, Formats};

use super::counters::TextCallCounters;
use super::expected_calls::ExpectedCalls;
use super::message_scan::MessageScan;
use super::rules::TextCallRules;
use crate::upstream::answer::{MessageEvent, Part};
use crate::wire::block::Block;
use crate::wire::delta::{Delta, TextField};
use crate::wire::event::StreamEvent;
use crate::wire::fields::RawFields;
use crate::wire::message::WholeMessage;

/// Request with the tools of the rows.
fn request() -> Value {
    let tools: Vec<_> = rows::tools()
        .iter()
        .map(|(name, schema)| json!({ "name": name, "input_schema": schema }))
        .collect();
    json!({ "model": "m", "tools": tools, "messages": [] })
}

fn expected_by(request: &Value, formats: Formats) -> Option<ExpectedCalls> {
    let rules = TextCallRules::new(formats);
    ExpectedCalls::from_messages(&request.to_string(), "m", &rules, &TextCallCounters::default())
}

fn expected(formats: Formats) -> ExpectedCalls {
    expected_by(&request(), formats).unwrap()
}

/// The message of a client, with the names and arguments of its calls.
#[derive(Debug, Clone, PartialEq, Default)]
struct Read {
    content: Vec<Value>,
    delta: Map<String, Value>,
    /// Size of the longest delta in bytes.
    longest: usize,
    open: Option<usize>,
    is_stopped: bool,
}

impl Read {
    fn push(&mut self, MessageEvent(part): MessageEvent) {
        assert!(!self.is_stopped, "{part:?}");
        match part {
            Part::RecoveredCall(block) => {
                assert_eq!((self.open, block.raw_input()), (None, None));
                let call = block.tool_use().unwrap();
                self.content
                    .push(json!({ "call": call.name, "input": call.input }));
            }
            Part::Block(block) => {
                assert_eq!(self.open, None);
                self.content.push(serde_json::from_str(block.as_str()).unwrap());
            }
            Part::Whole(message) => {
                let message: Value = serde_json::from_str(message.as_str()).unwrap();
                self.content
                    .extend(message["content"].as_array().unwrap().iter().cloned());
                self.delta
                    .insert("stop_reason".to_owned(), message["stop_reason"].clone());
                self.is_stopped = true;
            }
            Part::KeepAlive => {}
            Part::Event(event) => self.push_event(event),
        }
    }

    fn push_event(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::BlockStart { index, block } => {
                assert_eq!(self.open.replace(index), None);
                self.content.push(serde_json::from_str(block.as_str()).unwrap());
            }
            StreamEvent::BlockDelta { index, delta } => {
                assert_eq!(self.open, Some(index));
                let block = self.content.last_mut().unwrap();
                let (field, text) = match &delta {
                    Delta::Text(field, text) => (*field, text.clone()),
                    Delta::Texts(run) => (run.field, run.pieces().collect()),
                    Delta::Other(other) => {
                        block["other"] = serde_json::from_str(other.as_str()).unwrap();
                        return;
                    }
                };
                self.longest = self.longest.max(text.len());
                let before = block[field.as_str()].as_str().unwrap_or_default();
                block[field.as_str()] = format!("{before}{text}").into();
            }
            StreamEvent::BlockStop { index } => assert_eq!(self.open.take(), Some(index)),
            StreamEvent::MessageDelta(end) => {
                assert_eq!(self.open, None);
                let delta: Value = serde_json::from_str(end.get("delta").unwrap()).unwrap();
                self.delta.extend(delta.as_object().unwrap().clone());
            }
            StreamEvent::MessageStop => self.is_stopped = true,
            _ => {}
        }
    }

    fn stop_reason(&self) -> &Value {
        &self.delta["stop_reason"]
    }
}

fn events(events: &[Value]) -> Vec<MessageEvent> {
    let events = events.iter().map(|event| MessageEvent::parse(&event.to_string()));
    events.map(Result::unwrap).collect()
}

fn start() -> Value {
    json!({ "type": "message_start", "message": { "id": "m", "content": [], "usage": {} } })
}

fn piece(index: usize, text: &str) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": { "type": "text_delta", "text": text } })
}

fn end(stop_reason: &Value) -> Value {
    json!({ "type": "message_delta", "delta": { "stop_reason": stop_reason, "stop_sequence": null }, "usage": {} })
}

/// Builds the events of a block, whose text arrives in pieces.
fn block(index: usize, block: &Value, pieces: &[&str]) -> Vec<Value> {
    let mut events = vec![json!({ "type": "content_block_start", "index": index, "content_block": block })];
    events.extend(pieces.iter().map(|text| piece(index, text)));
    events.push(json!({ "type": "content_block_stop", "index": index }));
    events
}

fn text_block() -> Value {
    json!({ "type": "text", "text": "" })
}

fn read(expected: ExpectedCalls, sent: &[Value]) -> Read {
    let mut scan = MessageScan::new(expected);
    let mut read = Read::default();
    for event in events(sent) {
        scan.push(event);
        while let Some(event) = scan.pop() {
            read.push(event);
        }
    }
    scan.release();
    while let Some(event) = scan.pop() {
        read.push(event);
    }
    read
}

/// Reads a streamed message whose only block is a text.
fn streamed(pieces: &[&str], expected: &ExpectedCalls) -> Read {
    let text = |text: &&str| StreamEvent::BlockDelta {
        index: 0,
        delta: Delta::Text(TextField::Text, (*text).to_owned()),
    };
    let mut end = RawFields::default();
    end.set("delta", r#"{"stop_reason":"end_turn"}"#);
    let block = Block::text("");
    let events = [StreamEvent::BlockStart { index: 0, block }].into_iter();
    let events = events.chain(pieces.iter().map(text)).chain([
        StreamEvent::BlockStop { index: 0 },
        StreamEvent::MessageDelta(end),
        StreamEvent::MessageStop,
    ]);
    let mut scan = MessageScan::new(expected.clone());
    let mut read = Read::default();
    for event in events {
        scan.push(MessageEvent(Part::Event(event)));
        while let Some(event) = scan.pop() {
            read.push(event);
        }
    }
    read.longest = 0;
    read.delta.remove("stop_sequence");
    read
}

fn whole(message: &Value, expected: ExpectedCalls) -> Read {
    let message = WholeMessage::parse(&message.to_string()).unwrap();
    let mut scan = MessageScan::new(expected);
    scan.push(MessageEvent(Part::Whole(message)));
    let mut read = Read::default();
    while let Some(event) = scan.pop() {
        read.push(event);
    }
    read.delta.remove("stop_sequence");
    read
}

fn whole_text(text: &str, expected: &ExpectedCalls) -> Read {
    let message = json!({
        "id": "m", "content": [{ "type": "text", "text": text }], "stop_reason": "end_turn", "usage": {},
    });
    whole(&message, expected.clone())
}

const CALL: &str =
    "I look.\n\n<tool_call>\n{\"name\": \"get_time\", \"arguments\": {\"a\": 1.50}}\n</tool_call>";

#[test]
fn markup_and_white_space_before_it_leave_the_text() {
    let read = streamed(&[CALL], &expected(Formats::ALL));
    assert_eq!(
        read.content,
        [
            json!({ "type": "text", "text": "I look." }),
            json!({ "call": "get_time", "input": "{\"a\": 1.50}" })
        ]
    );
    assert_eq!(read.stop_reason(), "tool_use");
    let only = streamed(
        &[CALL.strip_prefix("I look.\n\n").unwrap()],
        &expected(Formats::ALL),
    );
    assert_eq!(
        only.content,
        [json!({ "call": "get_time", "input": "{\"a\": 1.50}" })]
    );
}

#[test]
fn only_the_last_text_of_a_message_without_calls_is_read() {
    let call = json!({ "type": "tool_use", "id": "t", "name": "get_time", "input": {} });
    let server_call = json!({ "type": "server_tool_use", "id": "s", "name": "web_search", "input": {} });
    let thinking = json!({ "type": "thinking", "thinking": "", "signature": "" });
    let texts = |index| block(index, &text_block(), &[CALL]);
    for (blocks, shape) in [
        ([texts(0), block(1, &call, &[])], ["text", "tool_use", ""]),
        ([block(0, &call, &[]), texts(1)], ["tool_use", "text", ""]),
        (
            [block(0, &server_call, &[]), texts(1)],
            ["server_tool_use", "text", ""],
        ),
        ([texts(0), block(1, &thinking, &[])], ["text", "thinking", ""]),
        (
            [texts(0), block(1, &text_block(), &["Done."])],
            ["text", "text", ""],
        ),
        ([texts(0), texts(1)], ["text", "text", "call"]),
        ([block(0, &thinking, &[]), texts(1)], ["thinking", "text", "call"]),
    ] {
        let mut sent = vec![start()];
        sent.extend(blocks.concat());
        sent.extend([end(&json!("end_turn")), json!({ "type": "message_stop" })]);
        let read = read(expected(Formats::ALL), &sent);
        let kinds = read
            .content
            .iter()
            .map(|block| block["type"].as_str().unwrap_or("call"));
        let shape: Vec<_> = shape.into_iter().filter(|kind| !kind.is_empty()).collect();
        assert_eq!(kinds.collect::<Vec<_>>(), shape);
        let unchanged = read.content.iter().filter(|block| block["text"] == CALL).count();
        assert_eq!(
            unchanged,
            usize::from(shape.last() != Some(&"call") || shape[0] == "text"),
            "{shape:?}"
        );
        assert_eq!(read.stop_reason() == "tool_use", shape.last() == Some(&"call"));
    }
}

#[test]
fn a_message_that_does_not_end_by_itself_keeps_its_text() {
    for (reason, is_read) in [
        (json!("end_turn"), true),
        (json!("stop_sequence"), true),
        (json!("max_tokens"), false),
        (json!("refusal"), false),
        (json!("pause_turn"), false),
        (json!("tool_use"), false),
        (Value::Null, false),
    ] {
        let mut sent = vec![start()];
        sent.extend(block(0, &text_block(), &[CALL]));
        sent.extend([end(&reason), json!({ "type": "message_stop" })]);
        let streamed = read(expected(Formats::ALL), &sent);
        let message = json!({
            "id": "m", "content": [{ "type": "text", "text": CALL }], "stop_reason": reason, "usage": {},
        });
        let whole = whole(&message, expected(Formats::ALL));
        for read in [streamed, whole] {
            assert_eq!(read.content.len() == 2, is_read, "{reason}");
            if !is_read {
                assert_eq!(
                    (&read.content[0]["text"], read.stop_reason()),
                    (&json!(CALL), &reason)
                );
            }
        }
    }
}

/// A stop sequence that ended the text before a call is none of the message with the call.
#[test]
fn a_message_with_a_recovered_call_has_no_stop_sequence() {
    let mut sent = vec![start()];
    sent.extend(block(0, &text_block(), &[CALL]));
    let delta = json!({ "stop_reason": "stop_sequence", "stop_sequence": "END" });
    sent.push(json!({ "type": "message_delta", "delta": delta, "usage": {} }));
    sent.push(json!({ "type": "message_stop" }));
    let read = read(expected(Formats::ALL), &sent);
    assert_eq!(
        (read.stop_reason(), &read.delta["stop_sequence"]),
        (&json!("tool_use"), &Value::Null)
    );
}

#[test]
fn held_text_of_a_message_that_breaks_off_leaves_unchanged() {
    let mut sent = vec![start()];
    sent.extend(block(0, &text_block(), &[CALL]));
    for length in 2..=sent.len() {
        let read = read(expected(Formats::ALL), &sent[..length]);
        let text = if length > 2 { CALL } else { "" };
        assert_eq!(
            read.content,
            [json!({ "type": "text", "text": text })],
            "{length}"
        );
        assert!(!read.is_stopped);
    }
    sent.push(end(&json!("end_turn")));
    sent.push(json!({ "type": "error", "error": { "type": "api_error", "message": "m" } }));
    let read = read(expected(Formats::ALL), &sent);
    assert_eq!(read.content, [json!({ "type": "text", "text": CALL })]);
}

#[test]
fn requests_without_calls_expect_none() {
    let with = |change: fn(&mut Value)| {
        let mut request = request();
        change(&mut request);
        request
    };
    for (request, formats, is_expected) in [
        (request(), Formats::ALL, true),
        (request(), Formats::NONE, false),
        (with(|request| request["tools"] = json!([])), Formats::ALL, false),
        (with(|request| drop(request["tools"].take())), Formats::ALL, false),
        (
            with(|request| {
                request["tools"] = json!([{ "type": "web_search_20250305", "name": "web_search" }]);
            }),
            Formats::ALL,
            false,
        ),
        (
            with(|request| request["tool_choice"] = json!({ "type": "none" })),
            Formats::ALL,
            false,
        ),
        (
            with(|request| request["tool_choice"] = json!({ "type": "any" })),
            Formats::ALL,
            true,
        ),
        // A text in JSON is an answer.
        (
            with(|request| request["output_config"] = json!({ "format": { "type": "json_schema" } })),
            [Format::Json, Format::Python].into_iter().collect(),
            false,
        ),
        (
            with(|request| request["output_format"] = json!({ "type": "json_schema" })),
            Formats::ALL,
            true,
        ),
        (
            with(|request| request["output_config"] = json!({ "effort": "low", "format": null })),
            [Format::Json].into_iter().collect(),
            true,
        ),
    ] {
        assert_eq!(expected_by(&request, formats).is_some(), is_expected, "{request}");
    }
}

#[test]
fn texts_in_an_output_format_have_only_calls_in_tags() {
    let mut request = request();
    request["output_config"] = json!({ "format": { "type": "json_schema" } });
    let json_call = r#"{"name": "get_time", "arguments": {}}"#;
    let message = |text: &str| json!({ "id": "m", "content": [{ "type": "text", "text": text }], "stop_reason": "end_turn", "usage": {} });
    for (text, is_call) in [(json_call, false), (CALL, true)] {
        let expected = expected_by(&request, Formats::ALL).unwrap();
        assert_eq!(
            whole(&message(text), expected).stop_reason() == "tool_use",
            is_call
        );
    }
}

#[test]
fn a_request_without_parallel_calls_gets_the_first_call() {
    let mut request = request();
    request["tool_choice"] = json!({ "type": "auto", "disable_parallel_tool_use": true });
    let text = "<tool_call>[{\"name\": \"get_time\", \"arguments\": {}}, {\"name\": \"math.add\", \"arguments\": {}}]</tool_call>";
    let message = json!({
        "id": "m", "content": [{ "type": "text", "text": text }], "stop_reason": "end_turn", "usage": {},
    });
    let counters = TextCallCounters::default();
    let rules = TextCallRules::new(Formats::ALL);
    let expected = ExpectedCalls::from_messages(&request.to_string(), "m", &rules, &counters).unwrap();
    let read = whole(&message, expected);
    assert_eq!(read.content, [json!({ "call": "get_time", "input": "{}" })]);
    assert_eq!(
        (counters.get("tags", "recovered"), counters.get("tags", "dropped")),
        (1, 1)
    );
}

#[test]
fn text_that_is_not_held_leaves_in_its_own_event() {
    let mut scan = MessageScan::new(expected(Formats::ALL));
    let sent = [
        start(),
        block(0, &text_block(), &[])[0].clone(),
        piece(0, "The weather is"),
    ];
    for event in events(&sent) {
        scan.push(event);
    }
    let left: Vec<_> = std::iter::from_fn(|| scan.pop()).collect();
    let expected: Vec<_> = events(&sent)
        .into_iter()
        .map(|MessageEvent(part)| format!("{part:?}"))
        .collect();
    let left: Vec<_> = left
        .iter()
        .map(|MessageEvent(part)| format!("{part:?}"))
        .collect();
    assert_eq!(left, expected);
}

#[test]
fn long_held_text_leaves_in_pieces() {
    let text = format!(
        "<tool_call>{{\"name\": \"get_time\", \"arguments\": \"{}é",
        "é".repeat(40_000)
    );
    let mut sent = vec![start()];
    sent.extend(block(0, &text_block(), &[&text]));
    sent.extend([end(&json!("end_turn")), json!({ "type": "message_stop" })]);
    let read = read(expected(Formats::ALL), &sent);
    assert_eq!(read.content, [json!({ "type": "text", "text": text })]);
    assert!(read.longest <= 16 << 10, "{}", read.longest);
}

#[test]
fn a_text_with_citations_is_not_read() {
    let mut sent = vec![start()];
    let mut text = block(0, &text_block(), &[CALL]);
    text.insert(
        2,
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "citations_delta", "citation": {} } }),
    );
    sent.extend(text);
    sent.extend([end(&json!("end_turn")), json!({ "type": "message_stop" })]);
    let read = read(expected(Formats::ALL), &sent);
    assert_eq!((&read.content[0]["text"], read.content.len()), (&json!(CALL), 1));
}

/// A text in the start of its block, halves of a character, and a block that does not end.
#[test]
fn unusual_streams_have_the_same_message() {
    let mut sent = vec![start()];
    sent.extend(block(0, &json!({ "type": "text", "text": CALL }), &[]));
    sent.extend([end(&json!("end_turn")), json!({ "type": "message_stop" })]);
    assert_eq!(read(expected(Formats::ALL), &sent).content[1]["call"], "get_time");

    let halves = [
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"<tool_call>{\"name\": \"get_time\", \"arguments\": {\"a\": \"\ud83d"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\ude00\"}}"}}"#,
    ];
    let mut scan = MessageScan::new(expected(Formats::ALL));
    let text = block(0, &text_block(), &[]);
    let mut sent = events(&[start(), text[0].clone()]);
    sent.extend(halves.map(|half| MessageEvent::parse(half).unwrap()));
    sent.extend(events(&[
        text[1].clone(),
        end(&json!("end_turn")),
        json!({ "type": "message_stop" }),
    ]));
    let mut read = Read::default();
    for event in sent {
        scan.push(event);
        while let Some(event) = scan.pop() {
            read.push(event);
        }
    }
    assert_eq!(
        read.content,
        [json!({ "call": "get_time", "input": "{\"a\": \"😀\"}" })]
    );
}

#[test]
fn a_call_of_the_server_after_the_text_releases_it() {
    let mut scan = MessageScan::new(expected(Formats::ALL));
    for event in events(&[
        start(),
        text_block_start(),
        piece(0, CALL),
        json!({ "type": "content_block_stop", "index": 0 }),
    ]) {
        scan.push(event);
    }
    scan.push(MessageEvent(Part::Block(Block::call("t", "get_time", "{}"))));
    for event in events(&[end(&json!("tool_use")), json!({ "type": "message_stop" })]) {
        scan.push(event);
    }
    let mut read = Read::default();
    while let Some(event) = scan.pop() {
        read.push(event);
    }
    assert_eq!(
        (&read.content[0]["text"], &read.content[1]["name"]),
        (&json!(CALL), &json!("get_time"))
    );
}

fn text_block_start() -> Value {
    block(0, &text_block(), &[])[0].clone()
}

#[test]
fn a_text_that_would_be_a_call_is_counted_once_for_each_message() {
    let counters = TextCallCounters::default();
    let tool_use = Block::call("t", "get_time", "{}");
    for (blocks, count) in [
        (vec![Block::text(CALL)], 1),
        (vec![Block::text("{\"name\": \"f\", \"arguments\": {}}\n\t")], 1),
        (
            vec![Block::text(
                "See `<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>`",
            )],
            0,
        ),
        (vec![Block::text("Done.")], 0),
        (vec![Block::text("<b>bold</b>")], 0),
        (vec![Block::text(CALL), tool_use], 0),
        (vec![], 0),
    ] {
        let before = counters.get("tags", "off") + counters.get("json", "off");
        counters.check_off("m", &blocks);
        assert_eq!(
            counters.get("tags", "off") + counters.get("json", "off") - before,
            count,
            "{blocks:?}"
        );
    }
}
