//! Repair of Python-style arguments, in texts and in streams of OpenAI-compatible models.

mod example;
mod quotes;
mod guarantees;
mod streams;
mod configuration;

use serde_json::{Value, json};
use tool_runtime::repair::stream::{Dialect, RepairRecord, StreamRepairer};
use tool_runtime::repair::{FormatFixing, Status, TargetTools, repair};

/// Arguments in Python's notation, and as JSON.
const WRONG: &str =
    "{\"todos\": [{'content': 'Set up the project: 日本語', 'id': '1', 'status': 'in_progress'}]}";
const RIGHT: &str =
    r#"{"todos": [{"content": "Set up the project: 日本語", "id": "1", "status": "in_progress"}]}"#;

/// Checks that the text is repaired to this result.
fn assert_repaired(text: &str, result: &str) {
    let repaired = repair(text);
    assert_eq!(
        (&*repaired.text, repaired.status),
        (result, Status::Repaired),
        "{text}"
    );
}

/// Builds an OpenAI-compatible stream with one call, whose arguments have these fragments.
fn stream(tool: &str, fragments: &[&str], finish_reason: &str) -> String {
    let first = json!({ "index": 0, "id": "call_1", "type": "function", "function": { "name": tool, "arguments": "" } });
    let calls = fragments
        .iter()
        .map(|text| json!({ "index": 0, "function": { "arguments": text } }));
    let mut events: Vec<Value> = std::iter::once(first)
        .chain(calls)
        .map(|call| json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [{ "index": 0, "delta": { "tool_calls": [call] }, "finish_reason": null }] }))
        .collect();
    events.push(json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [{ "index": 0, "delta": {}, "finish_reason": finish_reason }] }));
    let mut text: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    text.push_str("data: [DONE]\n\n");
    text
}

/// Returns the repaired stream, and the records.
fn repaired(stream: &str, fixing: FormatFixing) -> (String, Vec<RepairRecord>) {
    let mut repairer = StreamRepairer::new(Dialect::ChatCompletions, fixing);
    let mut out = Vec::new();
    for piece in stream.as_bytes().chunks(7) {
        repairer.push(piece, &mut out);
    }
    repairer.finish(&mut out);
    (String::from_utf8(out).unwrap(), repairer.take_records())
}

/// Joins the arguments in a stream like a client.
fn arguments(stream: &str) -> String {
    stream
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok())
        .filter_map(|event| {
            let text = event.pointer("/choices/0/delta/tool_calls/0/function/arguments")?;
            Some(text.as_str()?.to_owned())
        })
        .collect()
}

fn every_tool() -> FormatFixing {
    FormatFixing {
        target_tools: TargetTools::All,
        ..FormatFixing::default()
    }
}

/// Splits the text into pieces of three characters.
fn in_threes(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(3).map(|three| three.iter().collect()).collect()
}

/// Builds a stream with [`WRONG`] as the arguments of `TodoWrite`.
fn repaired_example(fixing: FormatFixing) -> (String, Vec<RepairRecord>) {
    let pieces = in_threes(WRONG);
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    repaired(&stream("TodoWrite", &pieces, "tool_calls"), fixing)
}
