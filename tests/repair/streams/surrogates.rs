//! Texts whose surrogate pairs a server splits between two events.

use tool_runtime::format::openai::{chat, responses};
use tool_runtime::format::{Delta, anthropic};

/// Output of a reader: the joined deltas, and the texts of the response.
#[derive(Debug, PartialEq)]
struct Texts {
    text: String,
    thinking: String,
    response: String,
}

macro_rules! texts {
    ($reader:expr, $stream:expr, $size:expr, $response:expr) => {{
        let mut reader = $reader;
        let (mut text, mut thinking) = (String::new(), String::new());
        for bytes in $stream.as_bytes().chunks($size) {
            for delta in reader.push(bytes).unwrap() {
                match delta {
                    Delta::Text(piece) => text.push_str(&piece),
                    Delta::Thinking(piece) => thinking.push_str(&piece),
                    _ => {}
                }
            }
        }
        let response = $response(reader.finish().unwrap());
        Texts {
            text,
            thinking,
            response,
        }
    }};
}

fn sse(events: &[String]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// Writes the UTF-16 code units of a text as JSON escapes.
fn escapes(text: &[u16]) -> String {
    text.iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

fn anthropic_texts(pieces: &[String], size: usize) -> Texts {
    let mut events =
        vec![r#"{"type":"message_start","message":{"role":"assistant","content":[]}}"#.to_owned()];
    for (index, (kind, name)) in [("thinking", "thinking"), ("text", "text")].iter().enumerate() {
        events.push(format!(
            r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"{kind}","{name}":""}}}}"#
        ));
        for piece in pieces {
            events.push(format!(
                r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"{kind}_delta","{name}":"{piece}"}}}}"#
            ));
            events.push(r#"{"type":"ping"}"#.to_owned());
        }
        events.push(format!(r#"{{"type":"content_block_stop","index":{index}}}"#));
    }
    events.push(r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#.to_owned());
    events.push(r#"{"type":"message_stop"}"#.to_owned());
    texts!(
        anthropic::ResponseReader::new(),
        sse(&events),
        size,
        |response: anthropic::Response| {
            let message = serde_json::to_value(response.message).unwrap();
            let block =
                |index: usize, name: &str| message["content"][index][name].as_str().unwrap().to_owned();
            assert_eq!(block(0, "thinking"), block(1, "text"));
            block(1, "text")
        }
    )
}

/// Builds two interleaved texts of a message, next to another choice.
fn chat_texts(pieces: &[String], size: usize, end: &str) -> Texts {
    let mut events: Vec<String> = pieces
        .iter()
        .map(|piece| {
            let delta = format!(r#"{{"content":"{piece}","reasoning_content":"{piece}"}}"#);
            let other = r#"{"index":1,"delta":{"content":"\ud83d"}}"#;
            format!(r#"{{"choices":[{other},{{"index":0,"delta":{delta}}}]}}"#)
        })
        .collect();
    events.push(end.to_owned());
    events.push("[DONE]".to_owned());
    texts!(
        chat::ResponseReader::new(),
        sse(&events),
        size,
        |response: chat::Response| {
            let field = |name: &str| response.message[name].as_str().unwrap().to_owned();
            assert_eq!(field("content"), field("reasoning_content"));
            field("content")
        }
    )
}

fn responses_texts(pieces: &[String], size: usize, done: &str) -> Texts {
    let mut events = Vec::new();
    for (index, kind) in ["reasoning_text", "output_text"].iter().enumerate() {
        for piece in pieces {
            events.push(format!(
                r#"{{"type":"response.{kind}.delta","output_index":{index},"content_index":0,"delta":"{piece}"}}"#
            ));
        }
        events.push(format!(r#"{{"type":"{done}","output_index":{index}}}"#));
    }
    events.push(r#"{"type":"response.completed","response":{"output":[]}}"#.to_owned());
    texts!(
        responses::ResponseReader::new(),
        sse(&events),
        size,
        |response: responses::Response| {
            response.output[0]["content"][0]["text"]
                .as_str()
                .unwrap()
                .to_owned()
        }
    )
}

#[test]
fn joins_a_surrogate_pair_of_two_events() {
    for sent in ["a😀b😁", "😀", "a\u{fffd}😀"] {
        check(&sent.encode_utf16().collect::<Vec<u16>>(), sent);
    }
}

#[test]
fn replaces_lone_surrogates() {
    for sent in [
        &[0x61, 0xd83d][..],
        &[0xd83d],
        &[0xde00, 0x62],
        &[0xd83d, 0x62],
        &[0xd83d, 0xd83d, 0xde00],
    ] {
        let text = String::from_utf16_lossy(sent);
        check(sent, &text);
    }
}

/// Reads a text that is split at every position, with the readers of all APIs.
fn check(sent: &[u16], expected: &str) {
    let mut cuts: Vec<Vec<String>> = (0..=sent.len())
        .map(|at| vec![escapes(&sent[..at]), escapes(&sent[at..])])
        .collect();
    cuts.push(sent.iter().map(|unit| escapes(&[*unit])).collect());
    for (pieces, size) in cuts
        .iter()
        .flat_map(|pieces| [(pieces, 1), (pieces, 9), (pieces, usize::MAX)])
    {
        let read = [
            anthropic_texts(pieces, size),
            chat_texts(
                pieces,
                size,
                r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            ),
            chat_texts(pieces, size, r#"{"choices":[],"usage":{}}"#),
            responses_texts(pieces, size, "response.output_text.done"),
            responses_texts(pieces, size, "response.output_item.added"),
        ];
        for texts in read {
            assert_eq!(texts.response, expected, "{pieces:?}");
            assert_eq!(
                (&*texts.text, &*texts.thinking),
                (expected, expected),
                "{pieces:?}"
            );
        }
    }
}
