//! What the client gets of a turn: a stream of events, or one message. Either from either kind of upstream response.

use std::ops::ControlFlow;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use serde_json::{Map, Value, json};

use crate::server::turns::running_turn::{Next, RunEnd, Watcher};
use crate::turn::action::Sent;
use crate::wire::assembly::Assembly;
use crate::wire::block::Block;
use crate::wire::delta::{Delta, TextField};
use crate::wire::event::StreamEvent;
use crate::wire::message::WholeMessage;
use crate::wire::object::{Change, Object};

/// Answers a request from a turn.
pub(crate) async fn answer(mut watcher: Watcher, is_stream: bool, session: HeaderValue) -> Response {
    let upstream_headers = match watcher.upstream_headers().await {
        Ok(headers) => headers,
        Err(end) => return with_session(ended(end), session),
    };
    let mut response = if is_stream {
        let body = stream::unfold(Some(watcher), |watcher| async {
            let mut watcher = watcher?;
            watcher.changed().await;
            let mut events = String::new();
            // What has come in the meantime goes out in one piece.
            let end = watcher.ready(|sent| {
                write_events(&mut events, sent);
                if events.len() > MAX_PIECE {
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            });
            let rest = match end {
                Some(RunEnd::Done) => None,
                Some(RunEnd::Failed { body, .. }) => {
                    error_event(&body).write_sse(&mut events);
                    None
                }
                None => Some(watcher),
            };
            (rest.is_some() || !events.is_empty())
                .then(|| (Ok::<_, std::convert::Infallible>(Bytes::from(events)), rest))
        });
        let mut response = Body::from_stream(body).into_response();
        response.headers_mut().insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/event-stream; charset=utf-8"),
        );
        response
            .headers_mut()
            .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        response
    } else {
        let mut message = Collected::default();
        loop {
            match watcher.next().await {
                Next::Sent(sent) => message.push(sent),
                Next::End(RunEnd::Done) => break,
                Next::End(end) => return with_session(ended(end), session),
            }
        }
        ([(header::CONTENT_TYPE, "application/json")], message.finish()).into_response()
    };
    copy_headers(&upstream_headers, response.headers_mut());
    with_session(response, session)
}

pub(crate) fn with_session(mut response: Response, session: HeaderValue) -> Response {
    response.headers_mut().insert("x-tool-gateway-session", session);
    response
}

/// The upstream's headers, but for those of the body, which is another.
fn copy_headers(from: &HeaderMap, headers: &mut HeaderMap) {
    for (name, value) in from {
        let of_the_body = [
            header::CONTENT_TYPE,
            header::CONTENT_LENGTH,
            header::CONTENT_ENCODING,
            header::TRANSFER_ENCODING,
            header::CACHE_CONTROL,
        ];
        if !of_the_body.contains(name) {
            headers.append(name, value.clone());
        }
    }
}

/// A turn that ended before it had anything to show.
fn ended(end: RunEnd) -> Response {
    match end {
        RunEnd::Done => StatusCode::NO_CONTENT.into_response(),
        RunEnd::Failed {
            status,
            headers,
            body,
        } => {
            let mut response = (status, body).into_response();
            *response.headers_mut() = headers;
            response
        }
    }
}

/// An error after the beginning of a stream.
fn error_event(body: &Bytes) -> StreamEvent {
    let error = serde_json::from_slice::<Value>(body)
        .ok()
        .filter(|error| error.get("type").is_some_and(|kind| kind == "error"));
    let error = error.unwrap_or_else(|| {
        let message = String::from_utf8_lossy(body);
        json!({ "type": "error", "error": { "type": "api_error", "message": message } })
    });
    StreamEvent::Error(error)
}

/// A piece of a stream is not much longer than this, in bytes.
const MAX_PIECE: usize = 16 << 10;

/// Appends the events of what is sent.
fn write_events(out: &mut String, sent: &Sent) {
    match sent {
        Sent::Event(event) => event.write_sse(out),
        Sent::Block { index, block } => {
            for event in block_events(*index, block) {
                event.write_sse(out);
            }
        }
        Sent::Message(message) => {
            let (start, mut end) = message.start_and_end();
            end.insert("usage".to_owned(), Value::Object(message.usage().clone()));
            StreamEvent::MessageStart(start).write_sse(out);
            for (index, block) in message.blocks().iter().enumerate() {
                for event in block_events(index, block) {
                    event.write_sse(out);
                }
            }
            StreamEvent::MessageDelta(end).write_sse(out);
            StreamEvent::MessageStop.write_sse(out);
        }
    }
}

/// The events of a whole block: its start is empty, as clients expect it, and one delta has each text.
fn block_events(index: usize, block: &Block) -> Vec<StreamEvent> {
    // A value beyond what this program can hold, as `1e999`, is in the arguments alone, which go out as text.
    let fields = Object::parse(block.as_str()).unwrap_or_default().0.into_iter();
    let mut start: Map<String, Value> = fields
        .map(|(name, value)| {
            (
                name.into_owned(),
                serde_json::from_str(value.get()).unwrap_or_default(),
            )
        })
        .collect();
    let kind = start
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let mut deltas = Vec::new();
    let mut empty = |field: TextField| {
        if let Some(Value::String(text)) = start.get_mut(field.as_str()).map(Value::take) {
            if !text.is_empty() {
                deltas.push(Delta::Text(field, text));
            }
            start.insert(field.as_str().to_owned(), "".into());
        }
    };
    match kind.as_str() {
        "text" => empty(TextField::Text),
        "thinking" => {
            empty(TextField::Thinking);
            empty(TextField::Signature);
        }
        "tool_use" | "server_tool_use" | "mcp_tool_use" => {
            let input = Object::parse(block.as_str()).ok();
            let input = input.and_then(|object| object.get("input"));
            // As they arrived, if they were no JSON: a stream that is repeated is the same.
            let input = block.raw_input().or(input).unwrap_or("{}");
            start.insert("input".to_owned(), json!({}));
            deltas.push(Delta::Text(TextField::PartialJson, input.to_owned()));
        }
        _ => {}
    }
    let deltas = deltas
        .into_iter()
        .map(|delta| StreamEvent::BlockDelta { index, delta });
    [StreamEvent::BlockStart { index, block: start }]
        .into_iter()
        .chain(deltas)
        .chain([StreamEvent::BlockStop { index }])
        .collect()
}

/// The message that a client gets without a stream.
#[derive(Debug, Default)]
struct Collected {
    /// The message, if it came whole.
    whole: Option<WholeMessage>,
    message: Map<String, Value>,
    assembly: Assembly,
}

impl Collected {
    fn push(&mut self, sent: Sent) {
        let event = match sent {
            Sent::Block { block, .. } => return self.assembly.push_block(block),
            Sent::Message(message) => {
                self.whole = Some(message);
                return;
            }
            Sent::Event(event) => self.assembly.push(event),
        };
        match event {
            Some(StreamEvent::MessageStart(message)) => self.message = message,
            Some(StreamEvent::MessageDelta(mut fields)) => {
                if let Some(Value::Object(delta)) = fields.shift_remove("delta") {
                    self.message.extend(delta);
                }
                self.message.extend(fields);
            }
            _ => {}
        }
    }

    fn finish(self) -> String {
        if let Some(whole) = self.whole {
            return whole.as_str().to_owned();
        }
        let mut content = "[".to_owned();
        for (index, block) in self.assembly.into_blocks().iter().enumerate() {
            if index > 0 {
                content.push(',');
            }
            content.push_str(block.repaired().as_str());
        }
        content.push(']');
        let mut message = self.message;
        message.entry("content").or_insert(Value::Null);
        let text = Value::Object(message).to_string();
        let mut out = String::with_capacity(text.len() + content.len());
        Object::parse(&text)
            .unwrap_or_default()
            .write(&mut out, |name, _| {
                Some(match name {
                    "content" => Change::To(&content),
                    _ => Change::Keep,
                })
            });
        out
    }
}
