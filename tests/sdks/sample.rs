//! Streams of providers with all fields that the SDKs require, in their original and repaired forms.

use serde_json::{Value, json};
use tests::random::Random;
use tool_runtime::repair::stream::{Dialect, StreamRepairer};
use tool_runtime::repair::{FormatFixing, repair};

use crate::calls::{Call, Kind};

/// Content of a generated stream.
#[derive(Debug, Clone)]
pub struct Plan {
    kinds: Vec<Kind>,
    /// Pieces of several calls are interleaved.
    pub mixed: bool,
    fallback: bool,
}

#[derive(Debug)]
pub struct Sample {
    pub dialect: Dialect,
    pub plan: Plan,
    pub calls: Vec<Call>,
    pub original: String,
    pub repaired: String,
}

impl Plan {
    /// Only the last call can be cut off.
    pub fn of(kinds: &[Kind], mixed: bool, fallback: bool) -> Self {
        let last = kinds.len() - 1;
        let possible = |(at, kind): (usize, &Kind)| {
            if kind.is_cut() && at < last {
                Kind::Python
            } else {
                *kind
            }
        };
        Self {
            kinds: kinds.iter().enumerate().map(possible).collect(),
            mixed: mixed && !kinds[last].is_cut(),
            fallback,
        }
    }

    pub fn any(random: &mut Random) -> Self {
        let kinds: Vec<Kind> = (0..=random.below(4)).map(|_| *random.pick(&Kind::ALL)).collect();
        Self::of(&kinds, random.one_in(2), !random.one_in(4))
    }
}

impl Sample {
    pub fn new(dialect: Dialect, plan: &Plan, random: &mut Random) -> Self {
        let kinds = plan.kinds.iter().enumerate();
        let calls: Vec<Call> = kinds
            .map(|(at, kind)| Call::new(*kind, format!("call_{at}"), random))
            .collect();
        let steps = steps(&calls, plan.mixed, random);
        let text = random.one_in(2).then_some("Let me write that down: tool_use.");
        let cut = plan.kinds.iter().any(|kind| kind.is_cut());
        let events = match dialect {
            Dialect::ChatCompletions => chat(&calls, &steps, text, cut),
            Dialect::Responses => responses(&calls, &steps, text, cut),
            _ => anthropic(&calls, &steps, text, cut),
        };
        let mut original: String = events.iter().map(|event| written(event, random)).collect();
        if dialect == Dialect::ChatCompletions {
            original += "data: [DONE]\n\n";
        }
        let fixing = FormatFixing {
            fallback_on_error: plan.fallback,
            ..FormatFixing::default()
        };
        Self {
            dialect,
            plan: plan.clone(),
            repaired: repaired(dialect, fixing, original.as_bytes(), random),
            calls,
            original,
        }
    }

    /// Returns whether the repair must end the stream with an error.
    pub fn fails(&self) -> bool {
        let fails = |call: &Call| {
            call.kind.is_refused() || (call.kind == Kind::CutPython && call.arguments.contains('\''))
        };
        !self.plan.fallback && self.calls.iter().any(fails)
    }

    /// Returns the call that a client must read.
    pub fn expected(&self, at: usize) -> String {
        let call = &self.calls[at];
        match call.kind {
            Kind::Foreign => call.arguments.clone(),
            _ => repair(&call.arguments).text.into_owned(),
        }
    }
}

fn repaired(dialect: Dialect, fixing: FormatFixing, original: &[u8], random: &mut Random) -> String {
    let mut repairer = StreamRepairer::new(dialect, fixing);
    let mut out = Vec::new();
    let mut rest = original;
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at((1 + random.below(400)).min(rest.len()));
        repairer.push(piece, &mut out);
        rest = behind;
    }
    repairer.finish(&mut out);
    String::from_utf8(out).unwrap()
}

enum Step {
    Begin(usize),
    Piece(usize, String),
    End(usize),
}

/// Returns all events about the calls: one call after the other, or interleaved, with the starts in order.
fn steps(calls: &[Call], mixed: bool, random: &mut Random) -> Vec<Step> {
    let queue = |(at, call): (usize, &Call), random: &mut Random| {
        let mut steps = vec![Step::Begin(at)];
        steps.extend(pieces(&call.arguments, random).map(|piece| Step::Piece(at, piece)));
        steps.push(Step::End(at));
        steps.reverse();
        steps
    };
    let mut queues: Vec<Vec<Step>> = calls.iter().enumerate().map(|call| queue(call, random)).collect();
    let mut steps = Vec::new();
    let mut begun = 0;
    loop {
        let reach = if mixed { begun + 1 } else { queues.len() };
        let left: Vec<usize> = (0..reach.min(queues.len()))
            .filter(|at| !queues[*at].is_empty())
            .collect();
        let Some(first) = left.first() else {
            return steps;
        };
        let at = if mixed { *random.pick(&left) } else { *first };
        let step = queues[at].pop();
        begun += usize::from(matches!(step, Some(Step::Begin(_))));
        steps.extend(step);
    }
}

fn pieces(text: &str, random: &mut Random) -> impl Iterator<Item = String> + use<> {
    let long = 1 + random.below(40);
    let mut pieces = vec![String::new()];
    for character in text.chars() {
        if random.one_in(long) {
            pieces.push(String::new());
        }
        pieces.last_mut().unwrap().push(character);
    }
    pieces.into_iter()
}

fn written(event: &Value, random: &mut Random) -> String {
    let ping = match random.below(12) {
        0 => ": keep-alive\n\n",
        _ => "",
    };
    match event["type"].as_str() {
        Some(name) => format!("{ping}event: {name}\ndata: {event}\n\n"),
        None => format!("{ping}data: {event}\n\n"),
    }
}

fn chat(calls: &[Call], steps: &[Step], text: Option<&str>, cut: bool) -> Vec<Value> {
    let chunk = |choices: Value| json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_763_771_771, "model": "m", "system_fingerprint": null, "choices": choices});
    let choice = |delta: Value, reason: Value| {
        chunk(json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": reason}]))
    };
    let mut events = vec![choice(
        json!({"role": "assistant", "content": text, "refusal": null}),
        Value::Null,
    )];
    for step in steps {
        let call = match step {
            Step::Begin(at) => {
                let call = &calls[*at];
                json!({"index": at, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}})
            }
            Step::Piece(at, piece) => json!({"index": at, "function": {"arguments": piece}}),
            Step::End(_) => continue,
        };
        events.push(choice(json!({"tool_calls": [call]}), Value::Null));
    }
    events.push(choice(
        json!({}),
        json!(if cut { "length" } else { "tool_calls" }),
    ));
    let mut usage = chunk(json!([]));
    usage["usage"] = json!({"prompt_tokens": 12, "completion_tokens": 34, "total_tokens": 46});
    events.push(usage);
    events
}

fn anthropic(calls: &[Call], steps: &[Step], text: Option<&str>, cut: bool) -> Vec<Value> {
    let mut events = vec![
        json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 12, "output_tokens": 1}}}),
        json!({"type": "ping"}),
    ];
    if let Some(text) = text {
        events.extend([
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
            json!({"type": "content_block_stop", "index": 0}),
        ]);
    }
    let first = usize::from(text.is_some());
    events.extend(steps.iter().map(|step| match step {
        Step::Begin(at) => {
            let call = &calls[*at];
            json!({"type": "content_block_start", "index": first + at, "content_block": {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}})
        }
        Step::Piece(at, piece) => {
            json!({"type": "content_block_delta", "index": first + at, "delta": {"type": "input_json_delta", "partial_json": piece}})
        }
        Step::End(at) => json!({"type": "content_block_stop", "index": first + at}),
    }));
    let reason = if cut { "max_tokens" } else { "tool_use" };
    events.extend([
        json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 34}}),
        json!({"type": "message_stop"}),
    ]);
    events
}

fn responses(calls: &[Call], steps: &[Step], text: Option<&str>, cut: bool) -> Vec<Value> {
    let response = |status: &str, output: Vec<Value>| {
        let details = (status == "incomplete").then(|| json!({"reason": "max_output_tokens"}));
        json!({"type": format!("response.{}", if status == "in_progress" { "created" } else { status }), "response": {"id": "resp_1", "object": "response", "created_at": 1_763_771_771, "status": status, "error": null, "incomplete_details": details, "model": "m", "output": output, "parallel_tool_calls": true, "tool_choice": "auto", "tools": [], "usage": null}})
    };
    let first = usize::from(text.is_some());
    let id = |at: &usize| format!("fc_{at}");
    let status = |at: usize| {
        if cut && at == calls.len() - 1 {
            "incomplete"
        } else {
            "completed"
        }
    };
    let item = |at: usize, status: &str, arguments: &str| json!({"id": id(&at), "type": "function_call", "status": status, "arguments": arguments, "call_id": calls[at].id, "name": calls[at].name});
    let mut events = vec![response("in_progress", vec![])];
    let mut output: Vec<Value> = text.map(message).into_iter().collect();
    events.extend(text.into_iter().flat_map(message_events));
    for step in steps {
        match step {
            Step::Begin(at) => events.push(json!({"type": "response.output_item.added", "output_index": first + at, "item": item(*at, "in_progress", "")})),
            Step::Piece(at, piece) => events.push(json!({"type": "response.function_call_arguments.delta", "item_id": id(at), "output_index": first + at, "delta": piece})),
            Step::End(at) => events.extend([
                json!({"type": "response.function_call_arguments.done", "item_id": id(at), "name": calls[*at].name, "output_index": first + at, "arguments": calls[*at].arguments}),
                json!({"type": "response.output_item.done", "output_index": first + at, "item": item(*at, status(*at), &calls[*at].arguments)}),
            ]),
        }
    }
    output.extend((0..calls.len()).map(|at| item(at, status(at), &calls[at].arguments)));
    events.push(response(if cut { "incomplete" } else { "completed" }, output));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    events
}

fn message(text: &str) -> Value {
    json!({"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": [part(text)]})
}

fn part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

fn message_events(text: &str) -> [Value; 6] {
    let empty = json!({"id": "msg_1", "type": "message", "status": "in_progress", "role": "assistant", "content": []});
    let of_part = |kind: &str, key: &str, value: Value| json!({"type": format!("response.{kind}"), "item_id": "msg_1", "output_index": 0, "content_index": 0, key: value, "logprobs": []});
    [
        json!({"type": "response.output_item.added", "output_index": 0, "item": empty}),
        of_part("content_part.added", "part", part("")),
        of_part("output_text.delta", "delta", json!(text)),
        of_part("output_text.done", "text", json!(text)),
        of_part("content_part.done", "part", part(text)),
        json!({"type": "response.output_item.done", "output_index": 0, "item": message(text)}),
    ]
}
