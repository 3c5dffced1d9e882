//! Clients that join the pieces of calls, one for each dialect.

use serde_json::Value;
use tool_runtime::repair::stream::Dialect;

use super::client_events::events;

/// A joined call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Call {
    pub choice: u64,
    pub index: Option<u64>,
    pub item: Option<String>,
    pub id: Option<String>,
    pub tool: String,
    pub arguments: String,
    /// A piece of a Responses stream had another id or position.
    named: bool,
    /// The call has the name of the previous call, which was complete.
    again: bool,
    /// The arguments that were repeated as a whole.
    pub copies: Vec<String>,
    pub in_pieces: bool,
    legacy: bool,
    stopped: bool,
    /// All arguments are equal to the arguments in the announcement of a Responses item, complete and valid JSON.
    announced: bool,
    /// Whether the stream reported during this call that its output was cut off.
    pub cut: bool,
}

impl Call {
    /// Returns the arguments that the client executes, which are the last arguments.
    pub fn last(&self) -> &str {
        self.copies.last().unwrap_or(&self.arguments)
    }
}

pub fn calls(dialect: Dialect, stream: &[u8]) -> Vec<Call> {
    let events = events(stream);
    match dialect {
        Dialect::ChatCompletions => chat(&events),
        Dialect::Responses => responses(&events),
        _ => anthropic(&events),
    }
}

fn chat(events: &[Value]) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    for choice in events
        .iter()
        .filter_map(|event| event["choices"].as_array())
        .flatten()
    {
        let number = choice["index"].as_u64().unwrap_or_default();
        for delta in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            chat_delta(&mut calls, number, delta);
        }
        let legacy = &choice["delta"]["function_call"];
        if legacy.is_object() {
            if !calls.iter().any(|call| call.legacy) {
                calls.push(Call {
                    legacy: true,
                    ..Call::default()
                });
            }
            let call = calls.iter_mut().find(|call| call.legacy).unwrap();
            call.add_chat(None, text(&legacy["name"]), None, &legacy["arguments"]);
        }
        if let Some(reason) = text(&choice["finish_reason"]).filter(|reason| reason != "null") {
            for call in calls
                .iter_mut()
                .filter(|call| call.choice == number && !call.stopped)
            {
                call.stopped = true;
                call.cut = ["length", "content_filter", "SAFETY"].contains(&&*reason);
            }
        }
    }
    calls
}

fn chat_delta(calls: &mut Vec<Call>, choice: u64, delta: &Value) {
    let id = text(&delta["id"]).filter(|id| id != "null");
    let name = text(&delta["function"]["name"]);
    let (index, arguments) = (delta["index"].as_u64(), &delta["function"]["arguments"]);
    let mut own: Vec<&mut Call> = calls
        .iter_mut()
        .filter(|call| call.choice == choice && !call.stopped && !call.legacy)
        .collect();
    let by_id = |call: &Call| id.is_some() && call.id == id;
    // The arguments may follow an empty object at the beginning.
    let again = |call: &Call| {
        let whole = serde_json::from_str::<Value>(&call.arguments).ok();
        name.is_some()
            && id.is_none()
            && call.id.is_none()
            && written(arguments).trim_start().starts_with(['{', '['])
            && whole.is_some_and(|whole| match whole {
                Value::Object(members) => call.again || !members.is_empty(),
                other => other.is_array(),
            })
    };
    let begins = |call: &Call| {
        let another_name = name
            .as_ref()
            .is_some_and(|name| !call.tool.is_empty() && *name != call.tool);
        let unnamed = id.is_none() && index.is_none();
        let another_index = index.is_some() && call.index.is_some() && call.index != index;
        (name.is_some() && another_index)
            || (name.is_some() && id.is_some() && call.id.is_some() && call.id != id)
            || again(call)
            || (call.in_pieces && (another_name || (unnamed && name.is_some())))
    };
    let by_index = own
        .iter()
        .rposition(|call| index.is_some() && call.index == index);
    let by_both = own
        .iter()
        .rposition(|call| index.is_some() && call.index == index && by_id(call));
    let at = by_both
        .or(by_index)
        .or_else(|| own.iter().rposition(|call| by_id(call)))
        .or(own.len().checked_sub(1));
    let same = at.filter(|at| {
        let call = &own[*at];
        let drifts = id.is_none() && name.is_none() && (index.is_none() || own.len() == 1);
        let known = call.index == index || by_id(call) || drifts;
        known && !begins(call)
    });
    if let Some(at) = same {
        own[at].add_chat(id, name, index, arguments);
    } else {
        let mut call = Call {
            choice,
            again: at.is_some_and(|at| again(own[at])),
            ..Call::default()
        };
        call.add_chat(id, name, index, arguments);
        calls.push(call);
    }
}

impl Call {
    fn add_chat(&mut self, id: Option<String>, name: Option<String>, index: Option<u64>, arguments: &Value) {
        self.id = id.or(self.id.take());
        self.index = index.or(self.index);
        if let Some(name) = name.filter(|name| *name != self.tool) {
            self.tool.push_str(&name);
        }
        self.add(arguments);
    }

    /// Restarts the arguments. The arguments in the announcement of an item are a copy, if all of them are repeated.
    fn start_over(&mut self, again: bool) {
        if again && std::mem::take(&mut self.announced) {
            self.arguments.clear();
            self.in_pieces = false;
        }
    }

    fn add(&mut self, arguments: &Value) {
        let text = written(arguments);
        self.in_pieces |= !text.is_empty();
        self.arguments.push_str(&text);
    }
}

fn anthropic(events: &[Value]) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    for event in events {
        let index = event["index"].as_u64();
        let open = |call: &&mut Call| !call.stopped && (index.is_none() || call.index == index);
        match event["type"].as_str().unwrap_or_default() {
            "content_block_start" => {
                calls.iter_mut().filter(open).for_each(|call| call.stopped = true);
                calls.push(Call {
                    index,
                    id: text(&event["content_block"]["id"]),
                    tool: text(&event["content_block"]["name"]).unwrap_or_default(),
                    legacy: event["content_block"]["type"] != "tool_use",
                    ..Call::default()
                });
            }
            "content_block_delta" if !event["delta"]["partial_json"].is_null() => {
                let at = calls
                    .iter()
                    .rposition(|call| !call.stopped && call.index == index);
                let known = calls.iter().any(|call| call.index == index);
                let at = at.or_else(|| calls.iter().rposition(|call| !call.stopped && !known));
                let at = at.unwrap_or_else(|| {
                    calls.push(Call {
                        index,
                        ..Call::default()
                    });
                    calls.len() - 1
                });
                calls[at].add(&event["delta"]["partial_json"]);
            }
            "content_block_stop" => {
                if let Some(call) = calls.iter_mut().rfind(open) {
                    call.stopped = true;
                }
            }
            "message_delta"
                if ["max_tokens", "refusal"]
                    .map(Value::from)
                    .contains(&event["delta"]["stop_reason"]) =>
            {
                // Only the last block can be cut off.
                calls.iter_mut().rev().take(1).for_each(|call| call.cut = true);
            }
            _ => {}
        }
    }
    calls.retain(|call| !call.legacy);
    calls
}

fn responses(events: &[Value]) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    for event in events {
        let kind = event["type"].as_str().unwrap_or_default();
        let index = event["output_index"].as_u64();
        match kind {
            "response.output_item.added" if event["item"]["type"] == "function_call" => {
                let call = meet(&mut calls, &event["item"], index);
                call.add(&event["item"]["arguments"]);
                call.announced = serde_json::from_str::<Value>(&call.arguments).is_ok();
            }
            "response.function_call_arguments.delta" => {
                let call = meet(&mut calls, event, index);
                call.start_over(written(&event["delta"]).starts_with(['{', '[']));
                call.add(&event["delta"]);
            }
            "response.function_call_arguments.done" => {
                let call = meet(&mut calls, event, index);
                call.start_over(true);
                call.copies.push(written(&event["arguments"]));
            }
            "response.output_item.done" if event["item"]["type"] == "function_call" => {
                let call = meet(&mut calls, &event["item"], index);
                call.copies.push(written(&event["item"]["arguments"]));
                call.cut |= event["item"]["status"] == "incomplete";
            }
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                for item in event["response"]["output"].as_array().into_iter().flatten() {
                    if item["type"] == "function_call" {
                        let call = meet(&mut calls, item, None);
                        call.copies.push(written(&item["arguments"]));
                        call.cut |= item["status"] == "incomplete";
                    }
                }
                let silent = kind == "response.incomplete" && calls.iter().all(|call| !call.cut);
                let broke_off = ["response.failed", "response.cancelled"].contains(&kind);
                if let Some(last) = calls.last_mut() {
                    last.cut |= silent || broke_off;
                }
            }
            _ => {}
        }
    }
    calls
}

fn meet<'a>(calls: &'a mut Vec<Call>, item: &Value, index: Option<u64>) -> &'a mut Call {
    let of_event = item["item_id"].as_str().map(str::to_owned);
    let id = of_event.or_else(|| text(&item["id"]));
    let call_id = text(&item["call_id"]);
    let same = |call: &Call| {
        (id.is_some() && call.item == id)
            || (call_id.is_some() && call.id == call_id)
            || (index.is_some() && call.index == index)
    };
    // Some servers send one of the two ids in both fields.
    let crosswise = |call: &Call| {
        let other_place = index.is_some() && call.index.is_some() && call.index != index;
        let other_ids = call_id.is_some() && call.id.is_some() && id.is_some() && call.item.is_some();
        let ids = (id.is_some() && call.id == id) || (call_id.is_some() && call.item == call_id);
        ids && !other_place && !other_ids
    };
    let unknown = index.is_none() && !item["item_id"].is_null();
    let known = calls
        .iter()
        .position(same)
        .or_else(|| calls.iter().position(crosswise));
    if let Some(at) = known {
        calls[at].named |= item["delta"].is_string();
    }
    let open = || {
        calls
            .iter()
            .position(|call| unknown && !call.named && call.copies.is_empty())
    };
    let at = known.or_else(open).unwrap_or_else(|| {
        calls.push(Call {
            item: id.clone(),
            index,
            ..Call::default()
        });
        calls.len() - 1
    });
    let call = &mut calls[at];
    call.id = call_id.or(call.id.take());
    call.tool = text(&item["name"]).unwrap_or_else(|| call.tool.clone());
    call
}

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
