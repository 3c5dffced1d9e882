//! Response of a turn: a stream of events or one message, independent of the upstream's form.

use std::ops::ControlFlow;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;

use crate::server::turns::running_turn::{Next, RunEnd, Watcher};
use crate::server::turns::upstream_headers::X_ACCEL_BUFFERING;
use crate::turn::action::Sent;
use crate::wire::assembly::Assembly;
use crate::wire::block::Block;
use crate::wire::delta::{Delta, TextField, pieces};
use crate::wire::error::error_type;
use crate::wire::event::StreamEvent;
use crate::wire::fields::RawFields;
use crate::wire::message::WholeMessage;
use crate::wire::object::{Object, push_string};
use crate::wire::received_error::ReceivedError;
use crate::wire::usage;

/// Answers a request from a turn.
pub(crate) async fn answer(mut watcher: Watcher, is_stream: bool, session: HeaderValue) -> Response {
    let (mut response, upstream_headers) = if is_stream {
        let headers = match watcher.upstream_headers().await {
            Ok(headers) => headers,
            Err(end) => return with_session(ended(end), session),
        };
        let body = stream::unfold(Some(watcher), |watcher| async {
            let mut watcher = watcher?;
            watcher.changed().await;
            let mut events = String::new();
            // Events that are ready are sent in one piece.
            let end = watcher.ready(|sent| {
                write_events(&mut events, sent);
                if events.len() > MAX_PIECE {
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            });
            let rest = match end {
                Some(RunEnd::Done) => None,
                Some(RunEnd::Failed { status, body, .. }) => {
                    error_event(status, &body).write_sse(&mut events);
                    None
                }
                None => Some(watcher),
            };
            (rest.is_some() || !events.is_empty())
                .then(|| (Ok::<_, std::convert::Infallible>(Bytes::from(events)), rest))
        });
        let own_headers = [
            (header::CONTENT_TYPE, "text/event-stream; charset=utf-8"),
            (header::CACHE_CONTROL, "no-cache"),
            // Without this header, nginx holds events until a buffer is full.
            (X_ACCEL_BUFFERING, "no"),
        ];
        ((own_headers, Body::from_stream(body)).into_response(), headers)
    } else {
        let mut message = Collected::default();
        loop {
            match watcher.next().await {
                Next::Sent(sent) => message.push(sent),
                Next::End(RunEnd::Done) => break,
                Next::End(end) => return with_session(ended(end), session),
            }
        }
        // A `ping` may have been sent before the headers arrived.
        let headers = watcher.headers();
        let kind = [(header::CONTENT_TYPE, "application/json")];
        ((kind, message.finish()).into_response(), headers)
    };
    upstream_headers.append_to(response.headers_mut());
    with_session(response, session)
}

const SESSION: HeaderName = HeaderName::from_static("x-tool-gateway-session");

pub(crate) fn with_session(mut response: Response, session: HeaderValue) -> Response {
    response.headers_mut().insert(SESSION, session);
    response
}

/// Returns the response for a turn that ended without output.
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

/// Converts an error after the beginning of a stream to an event, whose type is the type of the status.
fn error_event(status: StatusCode, body: &Bytes) -> StreamEvent {
    let text = String::from_utf8_lossy(body);
    let message = match ReceivedError::parse(&text) {
        Some(ReceivedError::Api(error)) => return StreamEvent::Error(error),
        Some(ReceivedError::Foreign(error)) => error.message,
        None if text.trim().is_empty() => {
            format!("the upstream answered with the status {}", status.as_u16())
        }
        None => text.into_owned(),
    };
    let mut details = RawFields::default();
    details.set("type", format!("\"{}\"", error_type(status)));
    let mut text = String::new();
    push_string(&mut text, &message);
    details.set("message", text);
    let mut error = RawFields::default();
    error.set("type", r#""error""#);
    error.set("error", details.to_json());
    StreamEvent::Error(error.into_object())
}

/// Approximate maximum size of a piece of a stream, in bytes.
const MAX_PIECE: usize = 16 << 10;

/// Appends the events of one output.
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
            end.set("usage", usage::to_json(&message.usage()));
            StreamEvent::MessageStart(start).write_sse(out);
            for (index, block) in message.shared_blocks().enumerate() {
                for event in block_events(index, &block) {
                    event.write_sse(out);
                }
            }
            StreamEvent::MessageDelta(end).write_sse(out);
            StreamEvent::MessageStop.write_sse(out);
        }
    }
}

/// Returns the events of a whole block: an empty start, as clients expect, and deltas for each text.
fn block_events(index: usize, block: &Block) -> Vec<StreamEvent> {
    let object = block.object();
    let kind = object.string("type").unwrap_or_default();
    let texts: &[TextField] = match kind.as_str() {
        "text" => &[TextField::Text],
        "thinking" => &[TextField::Thinking, TextField::Signature],
        _ => &[],
    };
    let mut start = RawFields::from(object);
    let mut deltas = Vec::new();
    for field in texts {
        if let Some(text) = object.string(field.as_str()) {
            deltas.extend(pieces(&text).map(|piece| Delta::Text(*field, piece.to_owned())));
            start.set(field.as_str(), "\"\"");
        }
    }
    if matches!(kind.as_str(), "tool_use" | "server_tool_use" | "mcp_tool_use") {
        // Arguments that are not JSON keep their text, so that a repeated stream is equal.
        let input = block.raw_input().or(object.get("input")).unwrap_or("{}");
        start.set("input", "{}");
        deltas.extend(pieces(input).map(|piece| Delta::Text(TextField::PartialJson, piece.to_owned())));
    }
    let deltas = deltas
        .into_iter()
        .map(|delta| StreamEvent::BlockDelta { index, delta });
    let block = Block::new(start.to_json());
    [StreamEvent::BlockStart { index, block }]
        .into_iter()
        .chain(deltas)
        .chain([StreamEvent::BlockStop { index }])
        .collect()
}

/// Collects the message for a client that does not stream.
#[derive(Debug, Default)]
struct Collected {
    /// The message, if the upstream sent it as a whole.
    whole: Option<WholeMessage>,
    message: RawFields,
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
            Some(StreamEvent::MessageStart(message)) => self.message = message.object().into(),
            Some(StreamEvent::MessageDelta(mut fields)) => {
                let delta = fields.remove("delta");
                if let Some(Ok(delta)) = delta.as_deref().map(Object::parse) {
                    self.message.extend(delta.into());
                }
                self.message.extend(fields);
            }
            _ => {}
        }
    }

    fn finish(self) -> Bytes {
        if let Some(whole) = self.whole {
            return whole.into_bytes();
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
        message.set("content", content);
        message.to_json().into()
    }
}
