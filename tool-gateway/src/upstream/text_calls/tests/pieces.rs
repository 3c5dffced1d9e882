//! Texts in pieces: a message has the same calls as the whole text, however the text is divided.

use serde_json::json;
use tool_runtime::repair::calls::Formats;

use super::rows::rows;
use super::{expected, streamed, whole_text};
use crate::session::tests::{Random, is_long};

#[test]
fn every_row_at_every_split_equals_the_whole() {
    let rows = rows();
    assert!(rows.len() >= 80);
    let mut recovered = 0;
    for (formats, text) in rows {
        let calls = expected(formats);
        let expected = whole_text(&text, &calls);
        let is_call = expected.stop_reason() == "tool_use";
        recovered += usize::from(is_call);
        if !is_call {
            assert_eq!(expected.content, [json!({ "type": "text", "text": text })]);
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

const FRAGMENTS: [&str; 24] = [
    "<tool_call>",
    "</tool_call>",
    "<function=get_time>",
    "</function>",
    "<parameter=city>",
    "</parameter>",
    "[TOOL_CALLS]",
    "get_time",
    "(",
    ")",
    "{\"name\": \"get_time\", \"arguments\": {}}",
    "{\"name\": \"get_weather\", ",
    "\"arguments\": {\"city\": \"",
    "\"}}",
    "<think>",
    "</think>",
    "```",
    "`",
    "\n",
    " ",
    "é",
    "the tool",
    "<",
    "[get_time()]",
];

#[test]
fn random_messages_in_random_pieces_equal_the_whole() {
    let count = if is_long() { 200_000 } else { 3_000 };
    let (mut random, mut recovered) = (Random(34), 0);
    let calls = expected(Formats::ALL);
    for _ in 0..count {
        let length = random.below(8) + 1;
        let text: String = (0..length)
            .map(|_| FRAGMENTS[random.below(FRAGMENTS.len())])
            .collect();
        let expected = whole_text(&text, &calls);
        if expected.stop_reason() == "tool_use" {
            recovered += 1;
        } else {
            assert_eq!(expected.content, [json!({ "type": "text", "text": text })]);
        }
        let mut pieces = Vec::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let mut end = (random.below(12) + 1).min(rest.len());
            while !rest.is_char_boundary(end) {
                end += 1;
            }
            let (piece, after) = rest.split_at(end);
            pieces.push(piece);
            rest = after;
        }
        assert_eq!(streamed(&pieces, &calls), expected, "{pieces:?}");
    }
    assert!(recovered > count / 100, "{recovered}");
}
