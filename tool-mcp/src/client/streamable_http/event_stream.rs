//! [`EventStream`]: the messages of a stream of server-sent events.

use std::time::Duration;

use http::HeaderValue;
use http_body_util::BodyExt as _;
use serde_json::Value;
use tool_runtime::sse::{Frame, SseDecoder};

use super::failure::HttpFailure;
use crate::adapt::json::parse;
use crate::client::http_service::HttpBody;

/// Time up to the next request of a stream that has named no time.
const RETRY: Duration = Duration::from_secs(1);

/// Returns whether a stream begins with the event `endpoint`, as in the transport of 2024-11-05.
pub(super) async fn begins_with_endpoint(mut body: HttpBody, limit: usize) -> bool {
    let mut decoder = SseDecoder::with_limit(limit);
    while let Some(Ok(frame)) = body.frame().await {
        let Some(data) = frame.data_ref() else { continue };
        decoder.push(data);
        while let Some(frame) = decoder.next_frame() {
            match frame {
                Frame::Ignored(_) => {}
                Frame::Event(event) => return event.name() == Some("endpoint"),
                _ => return false,
            }
        }
    }
    false
}

/// Stream of events, which can be continued by another response.
pub(super) struct EventStream {
    body: HttpBody,
    decoder: SseDecoder,
    limit: usize,
    is_finished: bool,
    /// Id of the last event that has one.
    pub(super) last_id: Option<HeaderValue>,
    /// Time up to the next request.
    pub(super) retry: Duration,
}

impl EventStream {
    /// Creates a stream with events of at most `limit` bytes.
    pub(super) fn new(body: HttpBody, limit: usize) -> Self {
        Self {
            body,
            decoder: SseDecoder::with_limit(limit),
            limit,
            is_finished: false,
            last_id: None,
            retry: RETRY,
        }
    }

    /// Continues with the events of another response.
    pub(super) fn resume(&mut self, body: HttpBody) {
        self.body = body;
        self.decoder = SseDecoder::with_limit(self.limit);
        self.is_finished = false;
    }

    /// Returns the rest of the response.
    pub(super) fn into_body(self) -> HttpBody {
        self.body
    }

    /// Returns the JSON of the next event that has JSON, with the event's name, or `None` at the end of the stream.
    pub(super) async fn next(&mut self) -> Result<Option<Value>, HttpFailure> {
        loop {
            while let Some(frame) = self.decoder.next_frame() {
                let event = match frame {
                    Frame::Event(event) if event.ended() => event,
                    Frame::Oversized { .. } => {
                        return Err(HttpFailure::TooLarge {
                            size: format!("more than {} bytes", self.limit),
                        });
                    }
                    _ => continue,
                };
                if let Some(id) = event.id() {
                    self.last_id = HeaderValue::from_str(id).ok().filter(|id| !id.is_empty());
                }
                if let Some(retry) = event.retry() {
                    self.retry = Duration::from_millis(retry);
                }
                let data = event.data().unwrap_or_default().into_owned();
                if let Ok(message) = parse(data).await {
                    return Ok(Some(message));
                }
            }
            if self.is_finished {
                return Ok(None);
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Some(data) = frame.data_ref() {
                        self.decoder.push(data);
                    }
                }
                Some(Err(error)) => return Err(HttpFailure::Interrupted(error.to_string())),
                None => {
                    self.decoder.finish();
                    self.is_finished = true;
                }
            }
        }
    }
}
