//! Random calls in random, interleaved pieces: a client receives the repair of the original arguments.

use serde_json::{Value, json};
use tests::long::long;
use tests::random::Random;
use tool_runtime::repair::stream::{Dialect, StreamLimits};
use tool_runtime::repair::{FormatFixing, Repairer, Status, repair};

use super::client::calls;
use super::client_events::{events, text};
use super::sent::{send, send_whole};

struct Made {
    tool: &'static str,
    arguments: String,
    /// Unwritten pieces, the next one last.
    pieces: Vec<String>,
    open: bool,
}

#[test]
fn client_receives_the_repaired_arguments_for_any_pieces() {
    let rounds = if long() { 30_000 } else { 300 };
    let mut random = Random::new(20);
    for round in 0..rounds {
        let dialect = *random.pick(&[Dialect::ChatCompletions, Dialect::Responses, Dialect::Anthropic]);
        let mut made: Vec<Made> = (0..=random.below(4)).map(|_| make(&mut random)).collect();
        let stream = match dialect {
            Dialect::ChatCompletions => chat(&mut made, &mut random),
            Dialect::Responses => responses(&mut made, &mut random),
            _ => anthropic(&mut made, &mut random),
        };
        let fixing = FormatFixing::default();
        let sent = send_whole(dialect, &fixing, stream.as_bytes());
        let received = calls(dialect, &sent.bytes);
        assert_eq!(received.len(), made.len(), "round {round}");
        let expectations = match dialect {
            Dialect::ChatCompletions => chat_expectations(&made, &stream),
            _ => made.iter().map(expectation).collect(),
        };
        for (expected, received) in expectations.iter().zip(&received) {
            assert_eq!(
                text(&received.arguments).as_deref(),
                Some(&**expected),
                "round {round}"
            );
            for copy in &received.copies {
                assert_eq!(text(copy).as_deref(), Some(&**expected), "round {round}");
            }
        }
        if made.iter().all(|made| made.tool != "TodoWrite") {
            assert_eq!(
                String::from_utf8(sent.bytes.clone()).unwrap(),
                stream,
                "round {round}"
            );
        }
        let size = 1 + random.below(300);
        let pieces = send(
            dialect,
            &fixing,
            StreamLimits::default(),
            stream.as_bytes().chunks(size),
        );
        assert_eq!(pieces, sent, "round {round}, in pieces of {size}");
    }
}

fn expectation(made: &Made) -> String {
    match made.tool {
        "TodoWrite" => repair(&made.arguments).text.into_owned(),
        _ => made.arguments.clone(),
    }
}

/// Expected calls of a chat. A call that ends like a complete object or list when a piece of another call arrives is treated as complete,
/// as in clients; later pieces for it stay unchanged. The limit is checked when bytes are held, and again after twice as many bytes.
fn chat_expectations(made: &[Made], stream: &str) -> Vec<String> {
    let mut expectations: Vec<String> = made.iter().map(expectation).collect();
    let mut came = vec![String::new(); made.len()];
    let mut asked = vec![0; made.len()];
    let mut last = 0;
    for event in events(stream.as_bytes()) {
        let delta = &event["choices"][0]["delta"]["tool_calls"][0];
        let Some(at) = delta["index"].as_u64() else {
            continue;
        };
        let at = usize::try_from(at).unwrap();
        let before = std::mem::replace(&mut last, at);
        let mut repairer = Repairer::new();
        let mut whole = repairer.push(&came[before]).to_owned();
        if at != before
            && came[before].len() >= 2 * asked[before]
            && whole.len() < came[before].len()
            && came[before].trim_ascii_end().ends_with(['}', ']'])
            && made[before].tool != "Bash"
        {
            asked[before] = came[before].len();
            let finished = repairer.finish();
            whole += &finished.rest;
            let closed = finished.rest.trim_ascii_end().ends_with(['}', ']']);
            if closed && finished.status != Status::Truncated {
                asked[before] = usize::MAX / 2;
                expectations[before] = whole + &made[before].arguments[came[before].len()..];
            }
        }
        came[at] += &text(delta["function"]["arguments"].as_str().unwrap()).unwrap();
    }
    expectations
}

fn make(random: &mut Random) -> Made {
    let arguments = arguments(random);
    let mut pieces = vec![String::new()];
    for character in arguments.chars() {
        if random.one_in(4) {
            pieces.push(String::new());
        }
        pieces.last_mut().unwrap().push(character);
    }
    pieces.reverse();
    Made {
        tool: random.pick::<&str>(&["TodoWrite", "TodoWrite", "TodoWrite", "Bash"]),
        arguments,
        pieces,
        open: false,
    }
}

/// Generates JSON, Python, a mixture of both, or the beginning of one.
fn arguments(random: &mut Random) -> String {
    let mut text = String::new();
    value(random, 0, &mut text);
    match random.below(8) {
        0 => text.truncate(anywhere(random, &text)),
        1 => text.insert_str(0, "{}"),
        2 => text.push_str(&text.clone()),
        3 => text.insert(anywhere(random, &text), '@'),
        _ => {}
    }
    if text.is_empty() { "0".to_owned() } else { text }
}

fn anywhere(random: &mut Random, text: &str) -> usize {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    if places.is_empty() {
        0
    } else {
        *random.pick(&places)
    }
}

fn value(random: &mut Random, depth: usize, text: &mut String) {
    let python = random.one_in(6);
    let shape = if depth == 0 {
        0
    } else {
        random.below(if depth > 3 { 5 } else { 7 })
    };
    match shape {
        0 | 5 => {
            text.push('{');
            for at in 0..random.below(4) {
                text.push_str(if at > 0 { ", " } else { "" });
                string(random, python, text);
                text.push_str(": ");
                value(random, depth + 1, text);
            }
            text.push_str(if python { ",}" } else { "}" });
        }
        6 => {
            text.push('[');
            for at in 0..random.below(4) {
                text.push_str(if at > 0 { "," } else { "" });
                value(random, depth + 1, text);
            }
            text.push(']');
        }
        1 => text.push_str(random.pick::<&str>(if python {
            &["True", "None", "0x1F"]
        } else {
            &["true", "null", "-1.5e3"]
        })),
        _ => string(random, python, text),
    }
}

fn string(random: &mut Random, python: bool, text: &mut String) {
    let quote = if python { '\'' } else { '"' };
    text.push(quote);
    for _ in 0..random.below(5) {
        text.push_str(random.pick::<&str>(&[
            "a",
            "你",
            "😀",
            "\\n",
            "\\u00e9",
            "\\\\",
            " b",
            "/",
            "\\ud83d\\ude00",
            "it's",
            "\u{2028}",
        ]));
    }
    text.push(quote);
}

fn event(value: &Value, random: &mut Random) -> String {
    let end = *random.pick(&["\n", "\n", "\r\n"]);
    let name = value["type"]
        .as_str()
        .map(|name| format!("event: {name}{end}"))
        .unwrap_or_default();
    let mut text = value.to_string();
    if random.one_in(3) {
        text = escaped(&text);
    }
    let ping = if random.one_in(6) { ": ping\n\n" } else { "" };
    format!("{ping}{name}data: {text}{end}{end}")
}

/// Encodes JSON in ASCII, so that a character may be two escapes, which a cut can separate.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        if character.is_ascii() {
            out.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

/// Writes interleaved events of the calls, until every call is complete.
fn mix(
    made: &mut [Made],
    random: &mut Random,
    mut write: impl FnMut(usize, &mut Made, Option<String>, &mut Random),
) {
    // Calls begin in order, so that clients list them in order.
    let mut begun = 0;
    loop {
        let left: Vec<usize> = (0..made.len())
            .filter(|at| *at <= begun && (!made[*at].open || !made[*at].pieces.is_empty()))
            .collect();
        let Some(at) = left.get(random.below(left.len().max(1))).copied() else {
            break;
        };
        let call = &mut made[at];
        if call.open {
            let piece = call.pieces.pop();
            write(at, call, piece, random);
        } else {
            write(at, call, None, random);
            call.open = true;
            begun += 1;
        }
    }
}

fn chat(made: &mut [Made], random: &mut Random) -> String {
    let mut stream = String::new();
    let chunk = |delta: Value, finish: Value| json!({"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    mix(made, random, |at, call, piece, random| {
        let delta = match piece {
            None => {
                json!({"tool_calls": [{"index": at, "id": format!("call_{at}"), "type": "function", "function": {"name": call.tool, "arguments": ""}}]})
            }
            Some(piece) => json!({"tool_calls": [{"index": at, "function": {"arguments": piece}}]}),
        };
        stream += &event(&chunk(delta, Value::Null), random);
        if random.one_in(5) {
            stream += &event(&chunk(json!({"content": "…"}), Value::Null), random);
        }
    });
    if !random.one_in(5) {
        stream += &event(&chunk(json!({}), json!("tool_calls")), random);
    }
    if !random.one_in(5) {
        stream += "data: [DONE]\n\n";
    }
    stream
}

fn anthropic(made: &mut [Made], random: &mut Random) -> String {
    let mut stream = String::new();
    mix(made, random, |at, call, piece, random| {
        let left = call.pieces.len();
        let value = match piece {
            None => {
                json!({"type": "content_block_start", "index": at, "content_block": {"type": "tool_use", "id": format!("toolu_{at}"), "name": call.tool, "input": {}}})
            }
            Some(piece) => {
                json!({"type": "content_block_delta", "index": at, "delta": {"type": "input_json_delta", "partial_json": piece}})
            }
        };
        stream += &event(&value, random);
        if call.open && left == 0 {
            stream += &event(&json!({"type": "content_block_stop", "index": at}), random);
        }
    });
    if !random.one_in(5) {
        stream += &event(
            &json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
            random,
        );
        stream += &event(&json!({"type": "message_stop"}), random);
    }
    stream
}

fn responses(made: &mut [Made], random: &mut Random) -> String {
    let mut stream = String::new();
    let mut number = 0;
    let item = |at: usize, tool: &str, arguments: &str| json!({"type": "function_call", "id": format!("fc_{at}"), "call_id": format!("call_{at}"), "name": tool, "arguments": arguments, "status": "completed"});
    mix(made, random, |at, call, piece, random| {
        number += 1;
        let left = call.pieces.len();
        let value = match piece {
            None => {
                json!({"type": "response.output_item.added", "sequence_number": number, "output_index": at, "item": item(at, call.tool, "")})
            }
            Some(piece) => {
                json!({"type": "response.function_call_arguments.delta", "item_id": format!("fc_{at}"), "output_index": at, "delta": piece})
            }
        };
        stream += &event(&value, random);
        if call.open && left == 0 {
            if !random.one_in(5) {
                stream += &event(
                    &json!({"type": "response.function_call_arguments.done", "item_id": format!("fc_{at}"), "output_index": at, "arguments": call.arguments}),
                    random,
                );
            }
            if !random.one_in(5) {
                stream += &event(
                    &json!({"type": "response.output_item.done", "output_index": at, "item": item(at, call.tool, &call.arguments)}),
                    random,
                );
            }
        }
    });
    let output: Vec<Value> = made
        .iter()
        .enumerate()
        .map(|(at, call)| item(at, call.tool, &call.arguments))
        .collect();
    if !random.one_in(5) {
        stream += &event(
            &json!({"type": "response.completed", "response": {"status": "completed", "output": output}}),
            random,
        );
    }
    stream
}
