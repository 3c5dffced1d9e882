//! One call in an arbitrary stream: ids, names and indexes are missing, repeated or changed with every piece, and ends are early or
//! repeated. However a client joins the pieces, the result is the original arguments or their repair.

use serde_json::{Value, json};
use tests::long::long;
use tests::random::Random;
use tool_runtime::repair::stream::Dialect;
use tool_runtime::repair::{FormatFixing, TargetTools, repair};

use super::client_events::events;
use super::sent::send_whole;

/// Pieces of arguments that look like complete arguments.
const MISLEADING: [&str; 16] = [
    "True", "nul", "it's", "'yes'", "None, x", "{'a': 1}", "[1,]", "say 'hi'", "a, b", "{}", "x}", "(1, 2)",
    "1", ".5", "\\\\d", "{",
];

#[test]
fn keeps_valid_arguments_unchanged() {
    let mut random = Random::new(11);
    for round in 0..rounds() {
        let arguments = json!({"k": value(&mut random, 0), "l": value(&mut random, 0)}).to_string();
        let (dialect, stream) = stream(&arguments, &mut random);
        for fixing in [FormatFixing::default(), FormatFixing::for_every_tool()] {
            let sent = send_whole(dialect, &fixing, stream.as_bytes());
            assert!(
                together(&sent.bytes) == arguments,
                "round {round}, {:?}: {arguments}\nbecame {}\nin\n{stream}",
                fixing.target_tools,
                together(&sent.bytes)
            );
        }
    }
}

#[test]
fn sends_invalid_arguments_unchanged_or_completely_repaired() {
    let mut random = Random::new(12);
    let mut repaired = 0;
    for round in 0..rounds() {
        let arguments = json!({"k": value(&mut random, 0), "l": value(&mut random, 0)})
            .to_string()
            .replace('"', "'")
            .replace("null", "None");
        let (dialect, stream) = stream(&arguments, &mut random);
        let fixing = FormatFixing {
            target_tools: random
                .pick(&[TargetTools::All, TargetTools::named(["TodoWrite"])])
                .clone(),
            ..FormatFixing::default()
        };
        let received = together(&send_whole(dialect, &fixing, stream.as_bytes()).bytes);
        repaired += usize::from(received != arguments);
        assert!(
            received == arguments || received == repair(&arguments).text,
            "round {round}, {:?}: {arguments}\nbecame {received}\nin\n{stream}",
            fixing.target_tools
        );
    }
    assert!(repaired > rounds() / 20, "{repaired}");
}

fn rounds() -> usize {
    if long() { 100_000 } else { 2_000 }
}

fn value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth > 1 { 5 } else { 8 }) {
        0 => json!(random.pick(&[1, 17])),
        1 => json!(random.one_in(2)),
        2 => Value::Null,
        3 | 4 => json!(random.pick(&MISLEADING)),
        5 => (0..random.below(3)).map(|_| value(random, depth + 1)).collect(),
        _ => (0..random.below(3))
            .map(|at| (["a", "b", "c"][at].to_owned(), value(random, depth + 1)))
            .collect(),
    }
}

/// Cuts the text anywhere, usually next to ambiguous characters.
fn pieces<'a>(text: &'a str, random: &mut Random) -> Vec<&'a str> {
    let mut cuts: Vec<usize> = (0..random.below(5)).map(|_| random.below(text.len())).collect();
    for word in MISLEADING {
        if let Some(at) = text.find(word).filter(|_| !random.one_in(3)) {
            cuts.extend([at, at + word.len()]);
        }
    }
    cuts.retain(|cut| text.is_char_boundary(*cut) && *cut > 0 && *cut < text.len());
    cuts.sort_unstable();
    cuts.dedup();
    let mut begin = 0;
    let mut pieces = Vec::new();
    for end in cuts.into_iter().chain([text.len()]) {
        pieces.push(&text[begin..end]);
        begin = end;
    }
    pieces
}

/// Frequency of a field in a stream: in every event, in the first event, with a new value in each event, or never.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Said {
    Always,
    First,
    Changing,
    Empty,
    Null,
    Never,
}

impl Said {
    fn any(random: &mut Random) -> Self {
        *random.pick(&[
            Self::Always,
            Self::First,
            Self::Changing,
            Self::Empty,
            Self::Null,
            Self::Never,
        ])
    }

    fn of(self, at: usize, word: &str) -> Value {
        match self {
            Self::Always => json!(word),
            Self::First if at == 0 => json!(word),
            Self::Changing => json!(format!("{word}_{at}")),
            Self::Empty | Self::Null if at == 0 => json!(word),
            Self::Empty => json!(""),
            Self::Null => json!("null"),
            Self::First | Self::Never => Value::Null,
        }
    }
}

/// Builds a stream of one call, whose arguments are JSON or Python.
pub fn any_stream(random: &mut Random) -> (Dialect, String, String) {
    let json = json!({"k": value(random, 0), "l": value(random, 0)}).to_string();
    let python = json.replace('"', "'").replace("null", "None");
    let arguments = if random.one_in(2) { json } else { python };
    let (dialect, stream) = stream(&arguments, random);
    (dialect, stream, arguments)
}

fn stream(arguments: &str, random: &mut Random) -> (Dialect, String) {
    let pieces = pieces(arguments, random);
    let dialect = *random.pick(&[
        Dialect::ChatCompletions,
        Dialect::ChatCompletions,
        Dialect::Responses,
        Dialect::Anthropic,
    ]);
    let events = match dialect {
        Dialect::ChatCompletions => chat(&pieces, random),
        Dialect::Responses => responses(&pieces, random),
        _ => anthropic(&pieces, random),
    };
    let framed = events.into_iter().map(|event| match event {
        Value::String(done) => format!("data: {done}\n\n"),
        event => match event["type"].as_str() {
            Some(name) => format!("event: {name}\ndata: {event}\n\n"),
            None => format!("data: {event}\n\n"),
        },
    });
    (dialect, framed.collect())
}

fn chat(pieces: &[&str], random: &mut Random) -> Vec<Value> {
    let (id, name) = (Said::any(random), Said::any(random));
    let index = random.pick(&[json!(0), json!(0), json!(7), Value::Null]).clone();
    let end = random
        .pick(&[
            Value::Null,
            Value::Null,
            json!(""),
            json!("null"),
            json!("tool_calls"),
            json!("stop"),
        ])
        .clone();
    let early = random.one_in(4);
    let choice = |delta: Value, end: &Value| json!({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": end}]});
    let mut events = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let mut call = json!({"function": {"arguments": piece}});
        if !index.is_null() {
            call["index"] = index.clone();
        }
        if let id @ Value::String(_) = id.of(at, "call") {
            call["id"] = id;
        }
        // A changed name belongs to another tool.
        let name = if matches!(name, Said::Changing | Said::Null) {
            Said::Always
        } else {
            name
        };
        if let name @ Value::String(_) = name.of(at, "TodoWrite") {
            call["function"]["name"] = name;
        }
        events.push(choice(json!({"tool_calls": [call]}), &end));
        match random.below(if early { 4 } else { 40 }) {
            0 => events.push(choice(
                json!({}),
                random.pick(&[json!("tool_calls"), json!("stop"), json!("length")]),
            )),
            1 => events.push(choice(json!({"content": "\u{2026}"}), &Value::Null)),
            2 => events.push(json!("[DONE]")),
            _ => {}
        }
    }
    if !random.one_in(4) {
        events.push(choice(json!({}), &json!("tool_calls")));
    }
    events.push(json!("[DONE]"));
    events
}

fn responses(pieces: &[&str], random: &mut Random) -> Vec<Value> {
    let id = Said::any(random);
    let index = *random.pick(&[Said::Always, Said::Never]);
    let mut events = Vec::new();
    let mut added = None;
    if !random.one_in(3) {
        let item = json!({"type": "function_call", "id": id.of(0, "fc"), "call_id": "call", "name": "TodoWrite", "arguments": ""});
        let mut event = json!({"type": "response.output_item.added", "item": item});
        if index == Said::Always {
            event["output_index"] = json!(0);
        }
        added = Some(event);
        events.extend(added.clone());
    }
    for (at, piece) in pieces.iter().enumerate() {
        let mut delta = json!({"type": "response.function_call_arguments.delta", "delta": piece});
        if let id @ Value::String(_) = id.of(at, "fc") {
            delta["item_id"] = id;
        }
        if index == Said::Always {
            delta["output_index"] = json!(0);
        }
        events.push(delta);
        if random.one_in(12) {
            events.extend(added.clone()); // repeated
        }
        if random.one_in(12) {
            events.push(
                json!({"type": "response.completed", "response": {"status": "completed", "output": []}}),
            );
        }
    }
    events.push(json!({"type": "response.completed", "response": {"status": "completed", "output": []}}));
    events
}

/// Repetitions between the pieces of a stream.
#[derive(Clone, Copy)]
enum Again {
    Begins,
    Ends,
    Never,
}

fn anthropic(pieces: &[&str], random: &mut Random) -> Vec<Value> {
    let index = *random.pick(&[Said::Always, Said::Always, Said::First, Said::Never]);
    let again = *random.pick(&[Again::Never, Again::Ends, Again::Begins]);
    let start = json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "toolu", "name": "TodoWrite", "input": {}}});
    let mut events = vec![start.clone()];
    for (at, piece) in pieces.iter().enumerate() {
        let mut delta = json!({"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": piece}});
        if index == Said::Always || (index == Said::First && at == 0) {
            delta["index"] = json!(1);
        }
        events.push(delta);
        match (again, random.below(6)) {
            (Again::Ends, 0) => events.push(json!({"type": "content_block_stop", "index": 1})),
            (Again::Ends, 1) => {
                events.push(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}))
            }
            (Again::Ends, 2) => events.push(json!({"type": "message_stop"})),
            (Again::Begins, 0) => events.push(start.clone()),
            (_, 3) => events.push(json!({"type": "ping"})),
            _ => {}
        }
    }
    events.push(json!({"type": "content_block_stop", "index": 1}));
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}));
    events.push(json!({"type": "message_stop"}));
    events
}

/// Returns all pieces of arguments in the order of their events.
pub fn together(stream: &[u8]) -> String {
    let mut all = String::new();
    for event in events(stream) {
        for place in [
            "/choices/0/delta/tool_calls/0/function/arguments",
            "/delta/partial_json",
            "/delta",
        ] {
            all.push_str(event.pointer(place).and_then(Value::as_str).unwrap_or_default());
        }
    }
    all
}
