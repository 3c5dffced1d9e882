//! Several calls with unique indexes in irregular streams: with equal or missing ids, late names, missing ends. A piece of one index is
//! never sent for another.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tests::random::Random;
use tool_runtime::repair::stream::Dialect;
use tool_runtime::repair::{FormatFixing, repair};

use super::client_events::events;
use super::sent::send_whole;

const ARGUMENTS: [&str; 9] = [
    "{}",
    r#"{"a": 1}"#,
    r#"{"b": 2}"#,
    r#"{"q": "x, y"}"#,
    r#"{"a": "it's True"}"#,
    "{'a': 1}",
    "{'a': True, 'b': 'x'}",
    "{'c': [1, 2,]}",
    "{'d': @}",
];

/// A call that is not completely sent.
struct Made {
    arguments: &'static str,
    tool: &'static str,
    left: Vec<&'static str>,
    begun: bool,
}

#[test]
fn arguments_of_an_index_are_never_sent_for_another() {
    let mut random = Random::new(13);
    let rounds = if std::env::var_os("REPAIR_LONG").is_some() {
        100_000
    } else {
        3_000
    };
    let mut repaired = 0;
    for round in 0..rounds {
        let mut made: Vec<Made> = (0..2 + random.below(2)).map(|_| make(&mut random)).collect();
        let dialect = *random.pick(&[Dialect::ChatCompletions, Dialect::Anthropic]);
        let events = match dialect {
            Dialect::ChatCompletions => chat(&mut made, &mut random),
            _ => anthropic(&mut made, &mut random),
        };
        let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        for fixing in [FormatFixing::default(), FormatFixing::for_every_tool()] {
            let sent = send_whole(dialect, &fixing, stream.as_bytes());
            let received = by_index(&sent.bytes);
            for (index, call) in made.iter().enumerate() {
                let target = call.tool == "TodoWrite" || fixing == FormatFixing::for_every_tool();
                let received = received.get(&index).map(String::as_str).unwrap_or_default();
                let whole = repair(call.arguments).text;
                repaired += usize::from(received != call.arguments);
                assert!(
                    received == call.arguments || (target && received == whole),
                    "round {round}, {:?}, {index}: {}\nbecame {received}\nin\n{stream}",
                    fixing.target_tools,
                    call.arguments
                );
            }
        }
    }
    assert!(repaired > rounds / 4, "{repaired}");
}

fn make(random: &mut Random) -> Made {
    let arguments: &'static str = random.pick::<&'static str>(&ARGUMENTS);
    let mut left = vec![arguments];
    if random.one_in(2) {
        let (begin, end) = arguments.split_at(1 + random.below(arguments.len() - 1));
        left = vec![end, begin];
    }
    Made {
        arguments,
        tool: random.pick::<&'static str>(&["TodoWrite", "TodoWrite", "Bash"]),
        left,
        begun: false,
    }
}

/// Selects the next call: one call after another, or in turns.
fn next(made: &[Made], turns: bool, random: &mut Random) -> Option<usize> {
    let begun = made.iter().filter(|call| call.begun).count();
    let open: Vec<usize> = (0..made.len().min(begun + 1))
        .filter(|at| !made[*at].left.is_empty())
        .collect();
    if turns && !open.is_empty() {
        Some(*random.pick(&open))
    } else {
        open.first().copied()
    }
}

fn chat(made: &mut [Made], random: &mut Random) -> Vec<Value> {
    let choice =
        |delta: Value, end: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": end}]});
    let (turns, names_late, again) = (random.one_in(3), random.one_in(4), random.one_in(4));
    // A call without a name and a unique id cannot be distinguished from another call whose index changed.
    let ids = if names_late { 1 } else { random.below(4) };
    let mut events = Vec::new();
    while let Some(at) = next(made, turns, random) {
        let call = &mut made[at];
        let mut delta = json!({"index": at, "function": {"arguments": call.left.pop().unwrap()}});
        let first = !std::mem::replace(&mut call.begun, true);
        if first || again {
            match ids {
                0 => delta["id"] = json!("same"),
                1 | 2 => delta["id"] = json!(format!("call_{at}")),
                _ => {}
            }
        }
        if (first || again) && !(names_late && at > 0) {
            delta["function"]["name"] = json!(call.tool);
        }
        events.push(choice(json!({"tool_calls": [delta]}), Value::Null));
    }
    events.push(choice(json!({}), json!("tool_calls")));
    events
}

fn anthropic(made: &mut [Made], random: &mut Random) -> Vec<Value> {
    let (turns, unstopped) = (random.one_in(3), random.one_in(3));
    let mut events = Vec::new();
    while let Some(at) = next(made, turns, random) {
        let call = &mut made[at];
        if !std::mem::replace(&mut call.begun, true) {
            let kind = if call.tool == "Bash" {
                *random.pick(&["tool_use", "server_tool_use"])
            } else {
                "tool_use"
            };
            let block = json!({"type": kind, "id": format!("toolu_{at}"), "name": call.tool, "input": {}});
            events.push(json!({"type": "content_block_start", "index": at, "content_block": block}));
        }
        let delta = json!({"type": "input_json_delta", "partial_json": call.left.pop().unwrap()});
        events.push(json!({"type": "content_block_delta", "index": at, "delta": delta}));
        let early = random.one_in(12);
        if early || (call.left.is_empty() && !(unstopped && random.one_in(2))) {
            events.push(json!({"type": "content_block_stop", "index": at}));
        }
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}));
    events.push(json!({"type": "message_stop"}));
    events
}

fn by_index(stream: &[u8]) -> BTreeMap<usize, String> {
    let mut received: BTreeMap<usize, String> = BTreeMap::new();
    for event in events(stream) {
        let call = &event["choices"][0]["delta"]["tool_calls"][0];
        for (index, piece) in [
            (&call["index"], &call["function"]["arguments"]),
            (&event["index"], &event["delta"]["partial_json"]),
        ] {
            if let (Some(index), Some(piece)) = (index.as_u64(), piece.as_str()) {
                received
                    .entry(usize::try_from(index).unwrap())
                    .or_default()
                    .push_str(piece);
            }
        }
    }
    received
}
