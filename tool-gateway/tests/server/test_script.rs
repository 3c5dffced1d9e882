//! [`TestScript`]: a script that records its requests, and whose answers can be malformed, split and cut off.
//!
//! In addition to the fields of a script, a turn may have `chunk`, the size of the pieces of a stream in bytes, and `cut_after`, the number
//! of events after which the stream is cut off. A call may have `partial_json`, the text of its arguments.

use std::io;
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Request, Response};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tool_gateway::upstream::script::ScriptError;
use tool_gateway::upstream::{ScriptUpstream, Upstream, UpstreamError, UpstreamFuture};

/// The upstream of most tests. Clones share the received requests.
#[derive(Debug, Clone)]
pub(crate) struct TestScript {
    script: ScriptUpstream,
    /// Faults by turn; none if no turn has any.
    faults: Arc<Vec<Faults>>,
    requests: Arc<Mutex<Vec<Recorded>>>,
}

/// A request that the script received.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    /// Path with the query.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Recorded {
    pub(crate) fn json(&self) -> serde_json::Result<Value> {
        serde_json::from_slice(&self.body)
    }
}

impl TestScript {
    pub(crate) fn embedded() -> Self {
        Self::new(ScriptUpstream::embedded(), Vec::new())
    }

    pub(crate) fn from_json(text: &str) -> Result<Self, ScriptError> {
        let mut script: Value = serde_json::from_str(text).unwrap_or_default();
        let turns = script.get_mut("turns").and_then(Value::as_array_mut);
        let turns = turns.into_iter().flatten().enumerate();
        let faults: Vec<_> = turns.map(|(number, turn)| Faults::take(number, turn)).collect();
        if faults.iter().all(|faults| *faults == Faults::default()) {
            // Numbers keep their text.
            return Ok(Self::new(ScriptUpstream::from_json(text)?, Vec::new()));
        }
        let script = ScriptUpstream::from_json(&script.to_string())?;
        Ok(Self::new(script, faults))
    }

    fn new(script: ScriptUpstream, faults: Vec<Faults>) -> Self {
        Self {
            script,
            faults: Arc::new(faults),
            requests: Arc::default(),
        }
    }

    /// Returns the received requests, in order.
    pub(crate) fn requests(&self) -> Vec<Recorded> {
        self.requests.lock().unwrap().clone()
    }

    async fn answer(&self, request: Request<Bytes>) -> Result<Response<Body>, UpstreamError> {
        let mut response = self.script.send(request).await?;
        let Some(turn) = response.headers_mut().remove(TURN) else {
            return Ok(response);
        };
        let turn: usize = turn.to_str().unwrap().parse().unwrap();
        let faults = self.faults[turn].clone();
        let (head, body) = response.into_parts();
        let is_stream = head.headers["content-type"]
            .to_str()
            .unwrap()
            .starts_with("text/event-stream");
        let body = if is_stream {
            faults.streamed(body).await
        } else {
            faults.whole(body).await
        };
        Ok(Response::from_parts(head, body))
    }
}

impl Upstream for TestScript {
    fn send(&self, request: Request<Bytes>) -> UpstreamFuture<'_> {
        self.requests.lock().unwrap().push(Recorded {
            path: request.uri().path_and_query().unwrap().to_string(),
            headers: request.headers().clone(),
            body: request.body().clone(),
        });
        Box::pin(self.answer(request))
    }

    fn name(&self) -> String {
        self.script.name()
    }
}

/// Header with the turn of a response.
const TURN: &str = "x-test-turn";

/// Fault of a turn.
#[derive(Debug, Clone, Default, PartialEq)]
struct Faults {
    chunk: Option<usize>,
    cut_after: Option<usize>,
    is_delayed: bool,
    malformed: Vec<Malformed>,
}

/// A call whose arguments are not JSON. The script has other arguments instead.
#[derive(Debug, Clone, PartialEq)]
struct Malformed {
    index: usize,
    text: String,
    scripted: Value,
}

impl Faults {
    /// Removes the faults from a turn, and marks a turn with faults.
    fn take(number: usize, turn: &mut Value) -> Self {
        let Some(fields) = turn.as_object_mut() else {
            return Self::default();
        };
        let mut number_of = |name: &str| {
            let value = fields.shift_remove(name);
            value.map(|value| usize::try_from(value.as_u64().unwrap()).unwrap())
        };
        let (chunk, cut_after) = (number_of("chunk"), number_of("cut_after"));
        let mut faults = Self {
            chunk,
            cut_after,
            ..Self::default()
        };
        let blocks = turn.get_mut("content").and_then(Value::as_array_mut);
        for (index, block) in blocks.into_iter().flatten().enumerate() {
            let text = block
                .as_object_mut()
                .and_then(|fields| fields.shift_remove("partial_json"));
            if let Some(Value::String(text)) = text {
                let scripted = json!({ "partial_json": text });
                block["input"] = scripted.clone();
                faults.malformed.push(Malformed {
                    index,
                    text,
                    scripted,
                });
            }
        }
        if faults != Self::default() {
            faults.is_delayed = turn.get("event_delay_ms").is_some();
            turn["headers"][TURN] = number.to_string().into();
        }
        faults
    }

    /// Applies the faults to a body that is not a stream, which is cut off in its middle.
    async fn whole(self, body: Body) -> Body {
        let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        let mut text = String::from_utf8(bytes.into()).unwrap();
        for malformed in &self.malformed {
            text = text.replace(&malformed.scripted.to_string(), "{}");
        }
        if self.cut_after.is_none() {
            return text.into();
        }
        let bytes = Bytes::from(text);
        let half = Ok(bytes.slice(..bytes.len() / 2));
        Body::from_stream(stream::once(async { half }).chain(broken()))
    }

    async fn streamed(self, body: Body) -> Body {
        let Self {
            chunk,
            cut_after,
            is_delayed,
            malformed,
        } = self;
        let events = body.into_data_stream();
        let events = events.flat_map(move |event| stream::iter(edited(event.unwrap(), &malformed)));
        let mut events = events.take(cut_after.unwrap_or(usize::MAX)).boxed();
        if chunk.is_some() && !is_delayed {
            // Pieces may begin anywhere.
            let all: Vec<Bytes> = events.collect().await;
            events = stream::iter([Bytes::from(all.concat())]).boxed();
        }
        let pieces = events.flat_map(move |event| {
            let size = chunk.unwrap_or(event.len()).max(1);
            let pieces: Vec<_> = event.chunks(size).map(Bytes::copy_from_slice).collect();
            stream::iter(pieces)
        });
        let pieces = pieces.map(Ok);
        if cut_after.is_some() {
            Body::from_stream(pieces.chain(broken()))
        } else {
            Body::from_stream(pieces)
        }
    }
}

/// Returns the error at the end of a cut-off stream, after all earlier bytes are sent.
fn broken() -> impl futures_util::Stream<Item = io::Result<Bytes>> {
    stream::once(async {
        tokio::task::yield_now().await;
        let error = "the script cuts the response here";
        Err(io::Error::new(io::ErrorKind::ConnectionReset, error))
    })
}

/// Replaces the scripted arguments in an event by malformed arguments.
fn edited(event: Bytes, malformed: &[Malformed]) -> Vec<Bytes> {
    let text = std::str::from_utf8(&event).unwrap();
    let data: Value = serde_json::from_str(text.split_once("data: ").unwrap().1).unwrap_or_default();
    let Some(call) = malformed.iter().find(|call| data["index"] == call.index) else {
        return vec![event];
    };
    if data["type"] == "content_block_delta" {
        let is_first = data["delta"]["partial_json"] == "";
        return if is_first { vec![event] } else { Vec::new() };
    }
    if data["type"] != "content_block_stop" {
        return vec![event];
    }
    let characters: Vec<char> = call.text.chars().collect();
    let deltas = characters.chunks(16).map(|piece| {
        let piece: String = piece.iter().collect();
        let delta = json!({ "type": "input_json_delta", "partial_json": piece });
        let data = json!({ "type": "content_block_delta", "index": call.index, "delta": delta });
        Bytes::from(format!("event: content_block_delta\ndata: {data}\n\n"))
    });
    deltas.chain([event.clone()]).collect()
}
