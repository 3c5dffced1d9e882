//! [`Raw`]: an upstream that answers with the bytes of a test, one response after the other.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::http::{Request, Response};
use serde_json::{Value, json};
use tool_gateway::Gateway;
use tool_gateway::upstream::{Upstream, UpstreamFuture};

use crate::lab::{Lab, Runs, registry};
use crate::test_script::TestScript;

/// An upstream with prepared responses. Clones share the requests.
#[derive(Debug, Clone)]
pub(crate) struct Raw {
    responses: Arc<Mutex<VecDeque<Response<Bytes>>>>,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Raw {
    pub(crate) fn new(responses: impl IntoIterator<Item = Response<Bytes>>) -> Self {
        Self {
            responses: Arc::new(Mutex::new(responses.into_iter().collect())),
            requests: Arc::default(),
        }
    }

    /// Returns the received bodies.
    pub(crate) fn seen(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }

    /// Builds a gateway in front of this server. The script of the lab is not used.
    pub(crate) fn lab(&self, configure: impl FnOnce(Gateway) -> Gateway) -> Lab {
        let runs = Runs::default();
        let gateway = Gateway::new(registry(&runs), self.clone());
        Lab {
            app: configure(gateway).router(),
            script: TestScript::embedded(),
            runs,
        }
    }
}

impl Upstream for Raw {
    fn send(&self, request: Request<Bytes>) -> UpstreamFuture<'_> {
        let body = serde_json::from_slice(request.body()).unwrap();
        self.requests.lock().unwrap().push(body);
        let response = self.responses.lock().unwrap().pop_front();
        let response = response.unwrap().map(Body::from);
        Box::pin(async { Ok(response) })
    }

    fn name(&self) -> String {
        "raw".to_owned()
    }
}

/// Builds a response with this status and type.
pub(crate) fn response(status: u16, kind: &str, body: impl Into<Bytes>) -> Response<Bytes> {
    let response = Response::builder().status(status).header("content-type", kind);
    response.body(body.into()).unwrap()
}

/// Builds a stream of named events.
pub(crate) fn stream(events: &[Value]) -> Response<Bytes> {
    let events = events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()));
    response(200, "text/event-stream", events.collect::<String>())
}

/// Builds a message that is not streamed.
pub(crate) fn whole(message: &Value) -> Response<Bytes> {
    response(200, "application/json", message.to_string())
}

/// Builds the message of `message_start`.
pub(crate) fn start() -> Value {
    json!({
        "type": "message_start",
        "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": null,
            "stop_sequence": null, "usage": { "input_tokens": 10, "output_tokens": 1 },
        },
    })
}

/// Builds the events of a block in one piece.
pub(crate) fn block(index: usize, start: &Value, delta: &Value) -> [Value; 3] {
    [
        json!({ "type": "content_block_start", "index": index, "content_block": start }),
        json!({ "type": "content_block_delta", "index": index, "delta": delta }),
        json!({ "type": "content_block_stop", "index": index }),
    ]
}

/// Builds the events of a text.
pub(crate) fn text_block(index: usize, text: &str) -> [Value; 3] {
    block(
        index,
        &json!({ "type": "text", "text": "" }),
        &json!({ "type": "text_delta", "text": text }),
    )
}

/// Builds the events of a call of `lookup` with the id `up_KEY`.
pub(crate) fn lookup_block(index: usize, key: &str) -> [Value; 3] {
    let start = json!({ "type": "tool_use", "id": format!("up_{key}"), "name": "lookup", "input": {} });
    let input = json!({ "key": key }).to_string();
    block(
        index,
        &start,
        &json!({ "type": "input_json_delta", "partial_json": input }),
    )
}

/// Builds the events at the end of a message.
pub(crate) fn end(stop_reason: &str) -> [Value; 2] {
    [
        json!({
            "type": "message_delta",
            "delta": { "stop_reason": stop_reason, "stop_sequence": null },
            "usage": { "output_tokens": 5 },
        }),
        json!({ "type": "message_stop" }),
    ]
}

/// Builds a message with these events between its start and its end.
pub(crate) fn message(blocks: &[&[Value]], stop_reason: &str) -> Response<Bytes> {
    let mut events = vec![start()];
    events.extend(blocks.concat());
    events.extend(end(stop_reason));
    stream(&events)
}
