//! Properties of every stream of server-sent events, with any contents and pieces.

use serde_json::{Value, json};
use tool_runtime::repair::stream::{Dialect, RepairRecord, StreamLimits, StreamRepairer};
use tool_runtime::repair::{FormatFixing, Limits, TargetTools, repair_with};
use tool_runtime::sse::{Frame, SseDecoder};

use super::properties::{cut, is_json, pieces};

const DIALECTS: [Dialect; 3] = [Dialect::ChatCompletions, Dialect::Responses, Dialect::Anthropic];

/// Checks an input in the form of `chunks`. The first byte selects the dialect, the limits, the configuration, and whether the rest is a
/// stream or the arguments of a call in a generated stream.
pub fn sse(input: &[u8]) {
    let (choice, lengths, rest) = cut(input);
    let dialect = DIALECTS[usize::from(choice % 3)];
    let limits = if choice & 4 == 0 {
        StreamLimits::default()
    } else {
        narrow()
    };
    if choice & 8 == 0 {
        let fixing = FormatFixing {
            target_tools: TargetTools::All,
            strict_validation: choice & 16 == 0,
            fallback_on_error: choice & 32 == 0,
            ..FormatFixing::default()
        };
        any_stream(rest, lengths, dialect, &fixing, limits);
    } else {
        one_call(
            &String::from_utf8_lossy(rest),
            lengths,
            dialect,
            limits.arguments,
            choice & 16 != 0,
        );
    }
}

fn narrow() -> StreamLimits {
    StreamLimits {
        event: 200,
        calls: 2,
        held: 60,
        arguments: Limits {
            depth: 4,
            held: 40,
            sent: 10,
            space: 3,
            number: 4,
        },
    }
}

/// Checks bytes as a stream: the cuts have no effect, and other data passes unchanged.
fn any_stream(bytes: &[u8], lengths: &[u8], dialect: Dialect, fixing: &FormatFixing, limits: StreamLimits) {
    let run = |fixing: &FormatFixing, pieces: &mut dyn Iterator<Item = &[u8]>| {
        let mut repairer = StreamRepairer::with(dialect, fixing.clone(), limits);
        repaired(&mut repairer, pieces)
    };
    let (whole, records) = run(fixing, &mut std::iter::once(bytes));
    let in_bytes = run(fixing, &mut bytes.chunks(1));
    assert!(
        in_bytes == (whole.clone(), records.clone()),
        "in bytes: {}",
        shown(&in_bytes.0)
    );
    let in_pieces = run(fixing, &mut cuts(bytes, lengths).into_iter());
    assert!(
        in_pieces == (whole.clone(), records),
        "in pieces: {}",
        shown(&in_pieces.0)
    );

    let off = FormatFixing {
        enabled: false,
        ..FormatFixing::default()
    };
    let of_no_tool = FormatFixing {
        target_tools: TargetTools::Named(Vec::new()),
        ..FormatFixing::default()
    };
    for untouched in [off, of_no_tool] {
        let (out, records) = run(&untouched, &mut bytes.chunks(7));
        assert!(out == bytes && records.is_empty(), "touched: {}", shown(&out));
    }
    if fixing.fallback_on_error {
        check_frames_without_json(bytes, &whole, limits);
        if let Some(arguments) =
            one_call_of(bytes, dialect).filter(|text| is_json(text) && text.starts_with('{'))
        {
            let left = one_call_of(&whole, dialect);
            assert_eq!(left, Some(arguments), "JSON was changed: {}", shown(&whole));
        }
    }
}

/// Joins the pieces of arguments in a stream, unless they belong to several calls.
fn one_call_of(stream: &[u8], dialect: Dialect) -> Option<String> {
    let (mut all, mut whose) = (String::new(), Vec::new());
    for data in payloads(stream) {
        let event: Value = serde_json::from_slice(&data).ok()?;
        let pieces: Vec<(Value, &Value)> = match dialect {
            Dialect::ChatCompletions => {
                let mut pieces = Vec::new();
                for choice in event["choices"].as_array().into_iter().flatten() {
                    // A missing index means the first call; generated streams contain it.
                    let number = choice["index"].as_u64().unwrap_or_default();
                    let delta = &choice["delta"];
                    for call in delta["tool_calls"].as_array().into_iter().flatten() {
                        let own = json!([number, false, call["index"]]);
                        pieces.push((own, &call["function"]["arguments"]));
                    }
                    pieces.push((json!([number, true]), &delta["function_call"]["arguments"]));
                }
                pieces
            }
            Dialect::Anthropic => vec![(event["index"].clone(), &event["delta"]["partial_json"])],
            _ => {
                let delta = event["type"] == "response.function_call_arguments.delta";
                let piece = if delta { &event["delta"] } else { &Value::Null };
                vec![(event["output_index"].clone(), piece)]
            }
        };
        for (own, piece) in pieces {
            match piece {
                Value::Null => continue,
                Value::String(piece) => all.push_str(piece),
                _ => return None,
            }
            whose.push(own);
        }
    }
    whose.dedup();
    (whose.len() == 1).then_some(all)
}

/// Returns the data of the events of a stream, except `[DONE]`.
fn payloads(stream: &[u8]) -> Vec<Vec<u8>> {
    let mut framer = SseDecoder::new();
    framer.push(stream);
    framer.finish();
    let mut found = Vec::new();
    while let Some(frame) = framer.next_frame() {
        if let Frame::Event(event) = frame
            && let Some(data) = event.data()
            && *data != *b"[DONE]"
        {
            found.push(data.into_owned());
        }
    }
    found
}

/// Checks that frames without JSON pass unchanged and in order.
fn check_frames_without_json(bytes: &[u8], out: &[u8], limits: StreamLimits) {
    let mut framer = SseDecoder::with_limit(limits.event);
    framer.push(bytes);
    framer.finish();
    let (mut came, mut left, mut all_json) = (Vec::new(), out, true);
    while let Some(frame) = framer.next_frame() {
        came.extend_from_slice(frame.raw());
        if let Frame::Event(event) = frame
            && event
                .data()
                .is_none_or(|data| std::str::from_utf8(&data).is_ok_and(is_json))
        {
            continue;
        }
        all_json &= matches!(frame, Frame::Ignored(_));
        let place = left.windows(frame.raw().len()).position(|it| it == frame.raw());
        assert!(
            place.is_some(),
            "{:?} is gone from {}",
            shown(frame.raw()),
            shown(out)
        );
        left = &left[place.unwrap_or_default() + frame.raw().len()..];
    }
    assert!(came == bytes, "the frames are not the stream: {}", shown(&came));
    if all_json {
        events(out);
    }
}

/// Arguments that come in these pieces leave as the repair of the whole, wherever the stream has a copy of them.
fn one_call(text: &str, lengths: &[u8], dialect: Dialect, limits: Limits, cut_off: bool) {
    let stream = match dialect {
        Dialect::Responses => responses(text, &pieces(text, lengths), cut_off),
        Dialect::Anthropic => anthropic(&pieces(text, lengths), cut_off),
        _ => chat(&pieces(text, lengths), cut_off),
    };
    let expected = if cut_off {
        text.to_owned()
    } else {
        repair_with(text, limits).text.into_owned()
    };
    let limits = StreamLimits {
        arguments: limits,
        ..StreamLimits::default()
    };
    let mut repairer = StreamRepairer::with(dialect, FormatFixing::default(), limits);
    let (out, _) = repaired(&mut repairer, &mut cuts(stream.as_bytes(), lengths).into_iter());
    let mut deltas = String::new();
    for event in events(&out) {
        for place in [
            "/choices/0/delta/tool_calls/0/function/arguments",
            "/delta/partial_json",
            "/delta",
        ] {
            deltas.push_str(event.pointer(place).and_then(Value::as_str).unwrap_or_default());
        }
        for place in ["/arguments", "/item/arguments", "/response/output/0/arguments"] {
            let copy = event.pointer(place).and_then(Value::as_str);
            let added = event["type"] == "response.output_item.added";
            assert!(
                added || copy.is_none_or(|copy| copy == expected),
                "{copy:?}, not {expected:?}"
            );
        }
    }
    assert_eq!(deltas, expected, "{}", shown(&out));
}

fn chat(pieces: &[&str], cut_off: bool) -> String {
    let delta = |delta: Value, reason: Value| {
        json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}).to_string()
    };
    let mut stream = String::new();
    for (number, piece) in pieces.iter().enumerate() {
        let call = if number == 0 {
            json!({"index": 0, "id": "call_1", "type": "function",
                "function": {"name": "TodoWrite", "arguments": piece}})
        } else {
            json!({"index": 0, "function": {"arguments": piece}})
        };
        stream += &format!("data: {}\n\n", delta(json!({"tool_calls": [call]}), Value::Null));
    }
    let reason = if cut_off { "length" } else { "tool_calls" };
    stream + &format!("data: {}\n\ndata: [DONE]\n\n", delta(json!({}), json!(reason)))
}

fn anthropic(pieces: &[&str], cut_off: bool) -> String {
    let reason = if cut_off { "max_tokens" } else { "tool_use" };
    let start = json!({"type": "tool_use", "id": "toolu_1", "name": "TodoWrite", "input": {}});
    let mut events = vec![json!({"type": "content_block_start", "index": 1, "content_block": start})];
    for piece in pieces {
        let delta = json!({"type": "input_json_delta", "partial_json": piece});
        events.push(json!({"type": "content_block_delta", "index": 1, "delta": delta}));
    }
    events.push(json!({"type": "content_block_stop", "index": 1}));
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": reason}}));
    events.push(json!({"type": "message_stop"}));
    named(&events)
}

fn responses(text: &str, pieces: &[&str], cut_off: bool) -> String {
    let status = if cut_off { "incomplete" } else { "completed" };
    let item = |arguments: &str, status: &str| {
        json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "TodoWrite",
            "arguments": arguments, "status": status})
    };
    let of_the_call = |kind: &str, key: &str, text: &str| {
        json!({"type": format!("response.function_call_arguments.{kind}"),
            "item_id": "fc_1", "output_index": 0, key: text})
    };
    let added =
        json!({"type": "response.output_item.added", "output_index": 0, "item": item("", "in_progress")});
    let mut events = vec![added];
    events.extend(pieces.iter().map(|piece| of_the_call("delta", "delta", piece)));
    events.push(of_the_call("done", "arguments", text));
    events.push(json!({"type": "response.output_item.done", "output_index": 0, "item": item(text, status)}));
    events.push(json!({"type": format!("response.{status}"),
        "response": {"status": status, "output": [item(text, status)]}}));
    named(&events)
}

fn named(events: &[Value]) -> String {
    let named = events.iter().map(|event| {
        let name = event["type"].as_str().unwrap_or_default();
        format!("event: {name}\ndata: {event}\n\n")
    });
    named.collect()
}

fn repaired(
    repairer: &mut StreamRepairer,
    pieces: &mut dyn Iterator<Item = &[u8]>,
) -> (Vec<u8>, Vec<RepairRecord>) {
    let mut out = Vec::new();
    for piece in pieces {
        repairer.push(piece, &mut out);
    }
    repairer.finish(&mut out);
    (out, repairer.take_records())
}

/// The events of a stream that is all JSON.
fn events(stream: &[u8]) -> Vec<Value> {
    let read = |data: Vec<u8>| {
        let text = std::str::from_utf8(&data);
        assert!(text.is_ok_and(is_json), "no JSON any more: {}", shown(&data));
        serde_json::from_slice(&data).unwrap_or_default()
    };
    payloads(stream).into_iter().map(read).collect()
}

/// Bytes in pieces of these lengths, used in turn, again and again.
fn cuts<'a>(bytes: &'a [u8], lengths: &[u8]) -> Vec<&'a [u8]> {
    let mut found = Vec::new();
    let mut left = bytes;
    if lengths.iter().any(|length| *length > 0) {
        for length in lengths.iter().cycle() {
            let Some((piece, rest)) = left.split_at_checked(usize::from(*length)) else {
                break;
            };
            if rest.is_empty() {
                break;
            }
            found.push(piece);
            left = rest;
        }
    }
    found.push(left);
    found
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
