//! [`Response`]: a whole response, split into the items for the next request and the fields that only responses have.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use serde_json::{Map, Value, json};

use crate::call::tool_call::ToolCall;
use crate::format::call_arguments::{called, object, sent_back};
use crate::format::call_ids::CallIds;
use crate::format::fields::FormatError;

/// A whole response of the Responses API, streamed or not.
///
/// `try_from` converts a body without `stream: true`; a [`ResponseReader`](super::responses::ResponseReader)
/// reads a stream.
///
/// ```
/// use tool_runtime::format::openai::responses::Response;
/// use tool_runtime::serde_json::json;
///
/// let call = json!({ "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "now", "arguments": "{}" });
/// let body = json!({ "id": "resp_1", "model": "gpt", "status": "completed", "output": [call], "usage": { "total_tokens": 9 } });
/// let response = Response::try_from(body).unwrap();
/// assert_eq!(response.status, "completed");
/// assert_eq!(response.calls[0].name, "now");
/// assert_eq!((response.output, &response.rest["id"]), (vec![call], &"resp_1".into()));
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Response {
    /// Items for the `input` of the next request. If the last item of a truncated response is a call, it is omitted
    /// with the reasoning before it. The arguments of calls are the text of an object, even if they could not be
    /// parsed.
    pub output: Vec<Value>,
    /// Calls among the items, in order, with the model's own arguments; streamed arguments are repaired if the repair
    /// is certain. Each call needs a `function_call_output`. Unparsable arguments are kept, so that the registry's
    /// result explains the fault.
    pub calls: Vec<ToolCall>,
    /// `completed` or `incomplete`: the calls of an incomplete response should not run.
    pub status: String,
    /// Number of tokens used, by kind; empty if the server did not report it.
    pub usage: Map<String, Value>,
    /// All other fields of the response, in their order: `id`, `model`, `incomplete_details` …
    pub rest: Map<String, Value>,
}

/// A call that was read from a stream.
#[derive(Debug)]
pub(super) struct StreamedCall {
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) arguments: String,
    /// Whether the call was truncated.
    pub(super) is_cut: bool,
    /// Whether only the event that ends the stream names the call.
    pub(super) is_of_end: bool,
}

/// Name and arguments of a call, without its ids: some servers create new ids for the item.
#[derive(Debug, PartialEq, Eq, Hash)]
struct CallContent {
    name: String,
    /// Object of the arguments, or their text if they cannot be parsed.
    arguments: Result<Map<String, Value>, String>,
}

impl CallContent {
    fn new(name: &str, arguments: &str) -> Self {
        Self {
            name: name.to_owned(),
            arguments: object(arguments).ok_or_else(|| arguments.to_owned()),
        }
    }

    fn from_call(call: &StreamedCall) -> Self {
        Self::new(&call.name, &call.arguments)
    }

    fn from_item(item: &Value) -> Self {
        let text = |field| item.get(field).and_then(Value::as_str).unwrap_or_default();
        Self::new(text("name"), text("arguments"))
    }
}

impl TryFrom<Value> for Response {
    type Error = FormatError;

    /// Splits the body of a response.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no `output`, or a call has no `name`.
    fn try_from(body: Value) -> Result<Self, FormatError> {
        let missing = || FormatError::Missing {
            subject: "a response",
            field: "output",
            wanted: "a list",
        };
        let Value::Object(mut fields) = body else {
            return Err(missing());
        };
        let Some(Value::Array(output)) = fields.shift_remove("output") else {
            return Err(missing());
        };
        Self::new(output, Vec::new(), fields)
    }
}

impl Response {
    /// Creates a response. Streamed calls are matched with the items by id, or else by equality, or else by order;
    /// unmatched calls are added.
    pub(super) fn new(
        items: Vec<Value>,
        streamed: Vec<StreamedCall>,
        mut fields: Map<String, Value>,
    ) -> Result<Self, FormatError> {
        let status = match fields.shift_remove("status") {
            Some(Value::String(status)) => status,
            _ => "completed".to_owned(),
        };
        let usage = match fields.shift_remove("usage") {
            Some(Value::Object(usage)) => usage,
            _ => Map::new(),
        };
        fields.shift_remove("object");
        let (mut ids, mut calls, mut output) = (CallIds::default(), Vec::new(), Vec::new());
        let mut is_cut = false;
        let mut take =
            |mut item: Value, sent: Option<StreamedCall>, is_last: bool, output: &mut Vec<Value>| {
                let text = |field| item.get(field).and_then(Value::as_str).map(str::to_owned);
                let is_incomplete = text("status").is_some_and(|status| status == "incomplete");
                let (id, name) = (text("call_id"), text("name"));
                let sent = sent.unwrap_or_else(|| {
                    let arguments = match item.get("arguments") {
                        Some(Value::String(text)) => text.clone(),
                        None | Some(Value::Null) => String::new(),
                        Some(other) => other.to_string(),
                    };
                    let is_object = serde_json::from_str::<Map<String, Value>>(&arguments).is_ok();
                    StreamedCall {
                        id: id.clone(),
                        name: name.clone().unwrap_or_default(),
                        arguments,
                        is_cut: is_incomplete && !is_object,
                        is_of_end: false,
                    }
                });
                let is_bare = is_last && status == "incomplete" && sent.arguments.trim().is_empty();
                if sent.is_cut || is_bare {
                    is_cut = true;
                    return Ok(());
                }
                let name = name.filter(|name| !name.is_empty()).unwrap_or(sent.name);
                if name.is_empty() {
                    return Err(FormatError::Missing {
                        subject: "a `function_call` item",
                        field: "name",
                        wanted: "a string",
                    });
                }
                let id = ids.unique(id.or(sent.id));
                if let Value::Object(item) = &mut item {
                    item.insert("call_id".to_owned(), id.as_str().into());
                    item.insert("name".to_owned(), name.as_str().into());
                    item.insert("arguments".to_owned(), sent_back(&sent.arguments).into());
                    item.shift_remove("parsed_arguments");
                }
                calls.push(ToolCall::new(id, name, called(sent.arguments)));
                output.push(item);
                Ok(())
            };
        let pairs = paired(items, streamed);
        let last = pairs.len().saturating_sub(1);
        for (at, (item, sent)) in pairs.into_iter().enumerate() {
            if is_call(&item) {
                take(item, sent, at == last, &mut output)?;
            } else {
                output.push(item);
            }
        }
        while is_cut
            && output
                .last()
                .is_some_and(|item| item.get("type").is_some_and(|kind| kind == "reasoning"))
        {
            output.pop(); // the API rejects reasoning without the item that follows it
        }
        Ok(Self {
            output,
            calls,
            status,
            usage,
            rest: fields,
        })
    }
}

fn is_call(item: &Value) -> bool {
    item.get("type").is_some_and(|kind| kind == "function_call")
}

/// Pairs each item with its streamed call. Calls without an item are added.
fn paired(items: Vec<Value>, streamed: Vec<StreamedCall>) -> Vec<(Value, Option<StreamedCall>)> {
    let id = |item: &Value| item.get("call_id").and_then(Value::as_str).map(str::to_owned);
    let mut pairing = Pairing {
        pairs: items.into_iter().map(|item| (item, None)).collect(),
        calls: streamed.into_iter().map(Some).collect(),
    };
    pairing.pair_by(id, |call| call.id.clone().filter(|_| !call.is_of_end));
    pairing.pair_by(
        |item| Some(CallContent::from_item(item)),
        |call| (!call.is_of_end).then(|| CallContent::from_call(call)),
    );
    pairing.pair_by(id, |call| call.id.clone().filter(|_| call.is_of_end));
    pairing.pair_by(|item| id(item).is_none().then_some(()), |_| Some(()));
    let mut pairs = pairing.pairs;
    let others = pairing.calls.into_iter().flatten().filter(|call| !call.is_of_end);
    pairs.extend(others.map(|call| (json!({ "type": "function_call" }), Some(call))));
    pairs
}

/// Items, each with its call after it was found, and the remaining streamed calls, in order.
#[derive(Debug)]
struct Pairing {
    pairs: Vec<(Value, Option<StreamedCall>)>,
    /// Remaining calls; `None` for a call with an item.
    calls: Vec<Option<StreamedCall>>,
}

impl Pairing {
    /// Assigns the first remaining call with the same key to each item without a call. Calls are indexed by key, so
    /// the time is linear in the number of items and calls.
    fn pair_by<K: Eq + Hash>(
        &mut self,
        item_key: impl Fn(&Value) -> Option<K>,
        call_key: impl Fn(&StreamedCall) -> Option<K>,
    ) {
        let pairs = self.pairs.iter_mut();
        let mut open = pairs
            .filter(|(item, own)| is_call(item) && own.is_none())
            .peekable();
        if open.peek().is_none() {
            return; // keys can be expensive
        }
        let mut positions: HashMap<K, VecDeque<usize>> = HashMap::new();
        for (at, call) in self.calls.iter().enumerate() {
            if let Some(key) = call.as_ref().and_then(&call_key) {
                positions.entry(key).or_default().push_back(at);
            }
        }
        if positions.is_empty() {
            return;
        }
        for (item, own) in open {
            let at = item_key(item).and_then(|key| positions.get_mut(&key)?.pop_front());
            *own = at.and_then(|at| self.calls.get_mut(at)?.take());
        }
    }
}
