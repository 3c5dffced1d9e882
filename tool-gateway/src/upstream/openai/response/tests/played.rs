//! [`Played`]: the message, or the error, that a scripted response becomes. The order of the events is asserted.

use std::convert::Infallible;
use std::future::poll_fn;

use axum::body::Body;
use axum::http::{Response, header};
use futures_util::stream;
use http_body_util::BodyExt as _;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::upstream::answer::{MessageEvent, Part, TurnBody};
use crate::upstream::openai::response::expected::ExpectedResponse;
use crate::upstream::openai::response::turn_body;
use crate::upstream::openai::signature::ThinkingSigner;
use crate::wire::block::Block;
use crate::wire::delta::Delta;
use crate::wire::error::ApiError;
use crate::wire::event::StreamEvent;
use crate::wire::half_pairs::HalfPairs;

/// Result of a response.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Played {
    /// The message; before an error, its parts so far.
    pub(super) message: Value,
    /// Usage in the start of the message.
    pub(super) first_usage: Value,
    pub(super) error: Option<Value>,
}

impl Played {
    /// Plays a response whose body arrives in these pieces.
    pub(super) async fn new(media_type: &str, pieces: Vec<Vec<u8>>, expected: ExpectedResponse) -> Self {
        let pieces = stream::iter(pieces.into_iter().map(Ok::<_, Infallible>));
        let response = Response::builder().header(header::CONTENT_TYPE, media_type);
        let response = response.body(Body::from_stream(pieces)).unwrap();
        let signer = expected.signer.clone();
        let response = turn_body(response, expected).await;
        let status = response.status();
        let mut events = match response.into_body() {
            TurnBody::Message(events) => events,
            TurnBody::Error(body) => {
                let body = body.collect().await.unwrap().to_bytes();
                let mut error: Value = serde_json::from_slice(&body).unwrap();
                error["error"]["status"] = status.as_u16().into();
                return Self {
                    message: Value::Null,
                    first_usage: Value::Null,
                    error: Some(error["error"].take()),
                };
            }
        };
        let mut played = Builder {
            signer,
            ..Builder::default()
        };
        let mut error = None;
        while let Some(event) = poll_fn(|cx| events.poll_next(cx)).await {
            assert!(error.is_none(), "an event after the error: {event:?}");
            match event {
                Ok(event) => played.push(event),
                Err(failed) => {
                    let failed = ApiError::from(failed);
                    let mut body = failed.body();
                    body["error"]["status"] = failed.status.as_u16().into();
                    error = Some(body["error"].take());
                }
            }
        }
        assert!(
            error.is_some() != played.is_stopped,
            "one end: {error:?} {played:?}"
        );
        played.message.insert("content".to_owned(), played.content.into());
        Self {
            message: played.message.into(),
            first_usage: played.first_usage,
            error,
        }
    }

    /// Plays the bytes of a stream in one write.
    pub(super) async fn stream(bytes: &[u8], expected: ExpectedResponse) -> Self {
        Self::new("text/event-stream", vec![bytes.to_vec()], expected).await
    }
}

/// Builds the message from its events.
#[derive(Debug, Default)]
struct Builder {
    message: Map<String, Value>,
    content: Vec<Value>,
    first_usage: Value,
    halves: HalfPairs,
    signer: ThinkingSigner,
    open: Option<usize>,
    is_started: bool,
    has_end: bool,
    is_stopped: bool,
}

impl Builder {
    fn push(&mut self, MessageEvent(part): MessageEvent) {
        match part {
            Part::Event(event) => {
                let joined = self.halves.join(event);
                for event in joined.before.into_iter().chain([joined.event]) {
                    self.push_event(event);
                }
            }
            Part::Block(block) | Part::RecoveredCall(block) => self.push_block(&block),
            Part::KeepAlive => {}
            Part::Whole(message) => panic!("a whole message: {message:?}"),
        }
    }

    fn push_block(&mut self, block: &Block) {
        assert!(
            self.is_started && !self.has_end && self.open.is_none(),
            "{self:?}"
        );
        let mut value: Value = serde_json::from_str(block.as_str()).unwrap();
        if let Some(raw) = block.raw_input() {
            value["input"] = raw.into();
        }
        self.content.push(value);
    }

    fn push_event(&mut self, event: StreamEvent) {
        assert!(!self.is_stopped, "an event after the end: {event:?}");
        match event {
            StreamEvent::MessageStart(message) => {
                assert!(!std::mem::replace(&mut self.is_started, true), "a second start");
                let mut message: Value = serde_json::from_str(message.as_str()).unwrap();
                assert_eq!(
                    (&message["content"], &message["role"]),
                    (&json!([]), &json!("assistant"))
                );
                assert!(message["id"].as_str().unwrap().starts_with("msg_"), "{message}");
                self.first_usage = message["usage"].take();
            }
            StreamEvent::BlockStart { index, block } => {
                assert!(
                    self.is_started && !self.has_end && self.open.is_none(),
                    "{self:?}"
                );
                assert_eq!(index, self.content.len());
                self.open = Some(index);
                self.content.push(serde_json::from_str(block.as_str()).unwrap());
            }
            StreamEvent::BlockDelta {
                index,
                delta: Delta::Text(field, text),
            } => {
                assert_eq!(self.open, Some(index), "a piece of a closed block");
                let block = self.content.last_mut().unwrap();
                // Arguments are not a field of the start.
                let before = block[field.as_str()].as_str().unwrap_or_default();
                block[field.as_str()] = format!("{before}{text}").into();
            }
            StreamEvent::BlockStop { index } => {
                assert_eq!(self.open.take(), Some(index), "an end of a closed block");
                let block = self.content.last_mut().unwrap();
                if block["type"] == "thinking" {
                    open_signature(&self.signer, block);
                }
                if block["type"] == "tool_use" {
                    let arguments = block.as_object_mut().unwrap().remove("partial_json");
                    let arguments = arguments.expect("a call begins with its arguments");
                    let parsed = serde_json::from_str(arguments.as_str().unwrap());
                    block["input"] = parsed.unwrap_or(arguments);
                    return;
                }
                let is_empty = ["text", "thinking"].iter().all(|field| {
                    let text = block[*field].as_str().unwrap_or_default();
                    text.trim().is_empty()
                });
                let is_signed = block["signature"]
                    .as_object()
                    .is_some_and(|data| !data.is_empty());
                assert!(!is_empty || is_signed, "an empty block: {block}");
            }
            StreamEvent::MessageDelta(fields) => {
                assert!(
                    self.is_started && !self.has_end && self.open.is_none(),
                    "{self:?}"
                );
                self.has_end = true;
                let delta: Value = serde_json::from_str(fields.get("delta").unwrap()).unwrap();
                self.message.extend(delta.as_object().unwrap().clone());
                let usage = serde_json::from_str(fields.get("usage").unwrap()).unwrap();
                self.message.insert("usage".to_owned(), usage);
            }
            StreamEvent::MessageStop => {
                assert!(self.has_end, "the end without its reason");
                self.is_stopped = true;
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Replaces the signature of a thinking block by its data.
fn open_signature(signer: &ThinkingSigner, block: &mut Value) {
    let signature = block["signature"].as_str().unwrap();
    let shown = block["thinking"].as_str().unwrap();
    let reasoning = signer.open(signature, shown).unwrap();
    let mut data = Map::new();
    if let Some(field) = reasoning.field {
        data.insert("field".to_owned(), serde_json::to_value(field).unwrap());
    }
    if reasoning.text != shown {
        data.insert("omitted".to_owned(), reasoning.text.into());
    }
    let value = |json: &RawValue| serde_json::from_str::<Value>(json.get()).unwrap();
    if !reasoning.details.is_empty() {
        let details = reasoning.details.iter().map(|detail| value(detail)).collect();
        data.insert("details".to_owned(), details);
    }
    for (tool, extra_content) in reasoning.extra_contents {
        data.insert(format!("extra_content of {tool}"), value(&extra_content));
    }
    block["signature"] = data.into();
}
