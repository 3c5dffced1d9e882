//! Malformed requests, and malformed streams of an upstream. Every request has an answer in the API's form, and calls of an incomplete
//! message do not run; passed messages stay unchanged. `GATEWAY_LONG=1` tests a hundred times as many.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

mod properties;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// A small deterministic random generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }

    /// Removes, repeats, replaces or inserts some bytes of a text.
    fn damaged(&mut self, text: &[u8]) -> Vec<u8> {
        const PIECES: [&[u8]; 12] = [
            b"{",
            b"}",
            b"[",
            b"]",
            b"\"",
            b",",
            b"null",
            b"\\u0000",
            b"\xff",
            b"1e999",
            b"\n\n",
            b"\"type\":",
        ];
        let mut text = text.to_vec();
        for _ in 0..=self.below(3) {
            let at = self.below(text.len() + 1);
            let end = (at + self.below(20)).min(text.len());
            match self.below(4) {
                0 => drop(text.drain(at..end)),
                1 => {
                    let piece = text[at..end].to_vec();
                    text.splice(at..at, piece);
                }
                2 => text.truncate(at),
                _ => drop(text.splice(at..at, PIECES[self.below(PIECES.len())].iter().copied())),
            }
        }
        text
    }
}

fn tries() -> usize {
    if std::env::var_os("GATEWAY_LONG").is_some() {
        100_000
    } else {
        1_000
    }
}

const REQUEST: &str = r#"{"model":"m","max_tokens":5,"stream":true,"system":[{"type":"text","text":"s"}],
    "tools":[{"name":"count"},{"name":"own","input_schema":{"type":"object"}}],"tool_choice":{"type":"any"},
    "messages":[{"role":"user","content":"hi"},
    {"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"s"},{"type":"tool_use","id":"a","name":"own","input":{}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x","cache_control":{"type":"ephemeral"}}]}],
    "metadata":{"user_id":"{\"session_id\":\"1\"}"}}"#;

#[test]
fn malformed_requests_get_an_error_of_the_api() {
    let mut random = Random(1);
    let mut answered = 0;
    for _ in 0..tries() {
        let body = random.damaged(REQUEST.as_bytes());
        let path = ["/v1/messages", "/v1/messages/count_tokens"][random.below(2)];
        answered += usize::from(properties::request(path, &body));
    }
    assert!(answered > tries() / 20, "{answered}");
}

#[test]
fn a_history_of_100_000_messages_is_answered_in_seconds() {
    let mut messages = String::new();
    for number in 0..49_999 {
        let _ = write!(
            messages,
            r#"{{"role":"user","content":"question {number}"}},{{"role":"assistant","content":[{{"type":"text","text":"answer"}}]}},"#
        );
    }
    let body = format!(
        r#"{{"tools":[{{"name":"count"}}],"messages":[{messages}{{"role":"user","content":"last"}}]}}"#
    );
    let began = Instant::now();
    assert!(properties::request("/v1/messages", body.as_bytes()));
    assert!(
        began.elapsed() < Duration::from_secs(300),
        "{:?}",
        began.elapsed()
    );
    eprintln!("{} MB in {:?}", body.len() >> 20, began.elapsed());
}

const STREAM: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":3}}}\n\n\
    event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
    event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n\
    event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
    event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"count\",\"input\":{}}}\n\n\
    event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}\n\n\
    event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n\
    event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\"},\"usage\":{\"output_tokens\":4}}\n\n\
    event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

/// The call never ends completely, so it must never run, for any contents of the stream.
#[test]
fn malformed_streams_run_nothing_and_end_with_an_event_or_an_error() {
    let mut random = Random(2);
    for _ in 0..tries() {
        let bytes = random.damaged(STREAM.as_bytes());
        let is_stream = random.below(10) > 0;
        let runs = properties::upstream(&bytes, is_stream, random.below(2) == 0);
        assert_eq!(runs, 0, "{}", String::from_utf8_lossy(&bytes));
    }
}

const CALLS: &str = r#"{"choices":[{"index":0,"message":{"tool_calls":[
    {"id":"a","function":{"name":"own","arguments":"{'a': 'b', \"c\": [1, True,]}"}},
    {"id":"b","function":{"arguments":"{\"a\": 1}","name":"own"}}],"function_call":{"name":"own","arguments":{"a":1}}},"finish_reason":"stop"}],
    "status":"completed","output":[{"type":"message","content":[]},
    {"type":"function_call","call_id":"c","name":"own","arguments":"(1, 'é', None)","status":"completed"}]}"#;

#[test]
fn malformed_responses_pass_but_for_repaired_arguments() {
    let mut random = Random(3);
    let mut repaired = 0;
    for _ in 0..tries() {
        let bytes = random.damaged(CALLS.as_bytes());
        let path = ["/v1/chat/completions", "/v1/responses"][random.below(2)];
        repaired += usize::from(properties::whole_response(path, &bytes));
    }
    assert!(repaired > tries() / 20, "{repaired}");
}
