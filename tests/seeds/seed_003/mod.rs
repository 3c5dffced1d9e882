//! Seed 003: the repair of Python-style arguments in the streams of OpenAI-compatible models.

mod problem;
mod conversion;
mod detection;
mod considerations;
mod configuration;
mod testing;

use serde_json::{Value, json};
use tool_runtime::repair::stream::{Dialect, RepairRecord, StreamRepairer};
use tool_runtime::repair::{FormatFixing, Status, TargetTools, repair};

/// The arguments of the seed's example, as the model sends them and as they should be.
const WRONG: &str =
    "{\"todos\": [{'content': '创建项目结构和主程序文件', 'id': '1', 'status': 'in_progress'}]}";
const RIGHT: &str =
    r#"{"todos": [{"content": "创建项目结构和主程序文件", "id": "1", "status": "in_progress"}]}"#;

/// A text is repaired, and to this.
fn becomes(text: &str, result: &str) {
    let repaired = repair(text);
    assert_eq!(
        (&*repaired.text, repaired.status),
        (result, Status::Repaired),
        "{text}"
    );
}

/// An OpenAI-compatible stream with one call, its arguments in these fragments.
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

/// What leaves, and the records.
fn repaired(stream: &str, fixing: FormatFixing) -> (String, Vec<RepairRecord>) {
    let mut repairer = StreamRepairer::new(Dialect::ChatCompletions, fixing);
    let mut out = Vec::new();
    for piece in stream.as_bytes().chunks(7) {
        repairer.push(piece, &mut out);
    }
    repairer.finish(&mut out);
    (String::from_utf8(out).unwrap(), repairer.take_records())
}

/// What a client puts together of the arguments in a stream.
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

/// The text in pieces of three characters.
fn in_threes(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(3).map(|three| three.iter().collect()).collect()
}

/// The seed's example through a stream of `TodoWrite`.
fn example_in_a_stream(fixing: FormatFixing) -> (String, Vec<RepairRecord>) {
    let pieces = in_threes(WRONG);
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    repaired(&stream("TodoWrite", &pieces, "tool_calls"), fixing)
}
