//! Halves of surrogate pairs and invalid UTF-8 in a message of the upstream.

use axum::body::Bytes;
use axum::http::Response;
use serde_json::{Value, json};

use crate::lab::{Chat, post};
use crate::raw::{self, Raw, end, lookup_block, start, text_block};
use crate::reply::{self, Reply, events};

/// The events of a text in these pieces, in JSON's form.
fn text_events(index: usize, pieces: &[&str]) -> String {
    let [begin, _, stop] = text_block(index, "");
    let piece = |piece: &&str| {
        format!(
            r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"text_delta","text":"{piece}"}}}}"#
        )
    };
    let events = [begin.to_string()].into_iter().chain(pieces.iter().map(piece));
    sse(events.chain([stop.to_string()]))
}

fn sse(events: impl IntoIterator<Item = String>) -> String {
    let events = events.into_iter().map(|data| {
        let kind = data
            .split("\"type\":\"")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap();
        format!("event: {kind}\ndata: {data}\n\n")
    });
    events.collect()
}

fn lines(events: &[Value]) -> String {
    sse(events.iter().map(Value::to_string))
}

/// A stream with a text, and a call of `lookup` if `calls`.
fn stream(text: &str, calls: bool) -> Response<Bytes> {
    let call = if calls {
        lines(&lookup_block(1, "a"))
    } else {
        String::new()
    };
    let end = lines(&end(if calls { "tool_use" } else { "end_turn" }));
    let body = [&lines(&[start()]), text, &call, &end].concat();
    // `~` represents a byte that is invalid in UTF-8.
    let bytes = body.into_bytes().into_iter();
    let bytes: Vec<u8> = bytes.map(|byte| if byte == b'~' { 0xff } else { byte }).collect();
    raw::response(200, "text/event-stream", bytes)
}

/// Pieces of a text, and the text.
const TEXTS: [(&[&str], &str); 5] = [
    (&[r"a\ud83d", r"\ude00b"], "a😀b"),
    (&[r"\ud83d", "", r"\ude00", "b"], "😀b"),
    (&[r"a\ud83d", "b"], "a\u{fffd}b"),
    (&["a", r"\ude00"], "a\u{fffd}"),
    (&["a~b"], "a\u{fffd}b"),
];

fn done() -> Response<Bytes> {
    stream(&text_events(0, &["Done."]), false)
}

#[tokio::test]
async fn halves_and_invalid_bytes_do_not_end_a_turn_with_a_call() {
    for (pieces, expected) in TEXTS {
        for is_stream in [true, false] {
            let upstream = Raw::new([stream(&text_events(0, pieces), true), done(), done()]);
            let lab = upstream.lab(|gateway| gateway);
            let mut chat = Chat::new(is_stream);
            let reply = chat.say(&lab, "go").await;
            assert_eq!(reply.text(), format!("{expected}\nDone."), "{pieces:?}");
            assert_eq!(chat.say(&lab, "on").await.session().1, "chain", "{pieces:?}");
            for body in &upstream.seen()[1..] {
                assert_eq!(body["messages"][1]["content"][0]["text"], expected);
            }
        }
    }
}

/// Client libraries join texts, and Python's cannot join halves.
#[tokio::test]
async fn joins_a_character_of_two_pieces() {
    let (pieces, _) = TEXTS[0];
    let upstream = Raw::new([stream(&text_events(0, pieces), false)]);
    let lab = upstream.lab(|gateway| gateway);
    let reply = Chat::new(true).say(&lab, "go").await;
    let events = events(&reply.body);
    let texts = events.iter().filter_map(|event| event["delta"]["text"].as_str());
    assert_eq!(texts.collect::<Vec<_>>(), ["a", "😀b"]);
}

#[tokio::test]
async fn messages_that_pass_keep_their_bytes_and_their_session() {
    for (pieces, expected) in TEXTS {
        let sent = stream(&text_events(0, pieces), false);
        let upstream = Raw::new([sent.clone(), done()]);
        let lab = upstream.lab(|gateway| gateway);
        let mut chat = Chat::new(true);
        chat.body["tools"] = json!([]);
        chat.messages().push(json!({ "role": "user", "content": "go" }));
        let response = lab.send(post("/v1/messages", &chat.body, &[])).await;
        assert_eq!(reply::bytes(response.into_body()).await, sent.body());
        chat.messages()
            .push(json!({ "role": "assistant", "content": expected }));
        let reply: Reply = chat.say(&lab, "on").await;
        assert_eq!(reply.session().1, "chain", "{pieces:?}");
    }
}

#[tokio::test]
async fn messages_that_are_not_streamed_are_read_too() {
    for (text, expected) in [(r"\ud83d\ude00", "😀"), (r"a\ud83d", "a\u{fffd}")] {
        let content = format!(r#"{{"type":"text","text":"{text}"}}"#);
        let call = json!({ "type": "tool_use", "id": "up_a", "name": "lookup", "input": {} });
        let body = format!(r#"{{"content":[{content},{call}],"stop_reason":"tool_use","usage":{{}}}}"#);
        let upstream = Raw::new([raw::response(200, "application/json", body), done()]);
        let lab = upstream.lab(|gateway| gateway);
        let reply = Chat::new(false).say(&lab, "go").await;
        assert_eq!(reply.text(), format!("{expected}\nDone."));
        assert_eq!(upstream.seen()[1]["messages"][1]["content"][0]["text"], expected);
    }
}

/// Arguments with half a pair are the model's own text: the tool reads U+FFFD.
#[tokio::test]
async fn halves_in_arguments_are_replaced() {
    let input = r#"{\"key\":\"\\ud83d\"}"#;
    let [begin, _, stop] = lookup_block(0, "a");
    let piece = format!(
        r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"input_json_delta","partial_json":"{input}"}}}}"#
    );
    let events = [start().to_string(), begin.to_string(), piece, stop.to_string()];
    let body = [sse(events), lines(&end("tool_use"))].concat();
    let upstream = Raw::new([raw::response(200, "text/event-stream", body), done()]);
    let lab = upstream.lab(|gateway| gateway);
    let reply = Chat::new(false).say(&lab, "go").await;
    assert_eq!(reply.text(), "Done.");
    let seen = &upstream.seen()[1]["messages"];
    assert_eq!(seen[1]["content"][0]["input"], json!({ "key": "\u{fffd}" }));
    assert_eq!(seen[2]["content"][0]["content"], "lookup of \u{fffd}");
}
