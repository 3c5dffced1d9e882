//! [`UpstreamEvents`]: the events of an upstream's response, as a turn takes them.

use std::collections::VecDeque;
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use futures_util::FutureExt as _;
use http_body_util::{BodyExt, Limited};
use tool_runtime::sse::{Frame, SseDecoder};

use super::forward::{MAX_RESPONSE, is_stream};
use crate::turn::event::Event;
use crate::wire::delta::{Delta, TextEvent, TextRun};
use crate::wire::event::StreamEvent;
use crate::wire::message::WholeMessage;

/// How many pieces a response may have after its message, and how long they may take; else its connection is closed.
const MAX_REST: usize = 16;
const REST_TIME: Duration = Duration::from_secs(1);

/// The events of an upstream's response, as a turn takes them.
pub(crate) struct UpstreamEvents {
    body: Body,
    decoder: SseDecoder,
    is_stream: bool,
    ready: VecDeque<Result<Event, String>>,
    bytes: Vec<u8>,
    is_over: bool,
}

impl UpstreamEvents {
    pub(crate) fn new(response: Response<Body>) -> Self {
        Self::with_limit(response, MAX_RESPONSE)
    }

    fn with_limit(response: Response<Body>, limit: usize) -> Self {
        Self {
            is_stream: is_stream(response.headers()),
            body: Body::new(Limited::new(response.into_body(), limit)),
            decoder: SseDecoder::new(),
            ready: VecDeque::new(),
            bytes: Vec::new(),
            is_over: false,
        }
    }

    /// The next event; an error says how the response broke off.
    pub(crate) async fn next(&mut self) -> Result<Event, String> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                if matches!(event, Ok(Event::Stream(StreamEvent::MessageStop))) {
                    self.read_rest();
                }
                return event;
            }
            if self.is_over {
                return Err("the upstream's response ended before its message did".to_owned());
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.push(&data);
                    }
                }
                Some(Err(error)) => return Err(format!("the upstream's response broke off: {error}")),
                None => {
                    self.is_over = true;
                    if self.is_stream {
                        self.decoder.finish();
                        self.take_frames();
                    } else {
                        self.whole()?;
                    }
                }
            }
        }
    }

    /// Reads the end of the response, which comes after that of its message: only then can its connection serve the next request.
    fn read_rest(&mut self) {
        if self.is_over {
            return;
        }
        let mut body = std::mem::take(&mut self.body);
        let mut rest = Box::pin(async move {
            for _ in 0..MAX_REST {
                let Some(Ok(_)) = body.frame().await else { break };
            }
        });
        if rest.as_mut().now_or_never().is_none() {
            tokio::spawn(tokio::time::timeout(REST_TIME, rest));
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        if self.is_stream {
            self.decoder.push(bytes);
            self.take_frames();
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }

    fn take_frames(&mut self) {
        while let Some(frame) = self.decoder.next_frame() {
            // A part of the message that cannot be read is not left out.
            match frame {
                Frame::Event(event) if event.ended() => {
                    if let Some(event) = TextEvent::parse(event.raw()) {
                        push_text(&mut self.ready, &event);
                        continue;
                    }
                    let Some(data) = event.data().filter(|data| !data.is_empty()) else {
                        continue;
                    };
                    let event = std::str::from_utf8(&data)
                        .ok()
                        .and_then(StreamEvent::parse)
                        .map(Event::Stream)
                        .ok_or_else(|| "the upstream sent an event that is none of the API's".to_owned());
                    self.ready.push_back(event);
                }
                Frame::Oversized { .. } => {
                    let error = "the upstream sent an event that is too large to be read";
                    self.ready.push_back(Err(error.to_owned()));
                }
                _ => {}
            }
        }
    }

    /// Reads a message that is not streamed; one with calls as the events of one that is.
    fn whole(&mut self) -> Result<(), String> {
        let unreadable = || "the upstream's response is not a message of the API".to_owned();
        let text = std::str::from_utf8(&self.bytes).map_err(|_| unreadable())?;
        let message = WholeMessage::parse(text).ok_or_else(unreadable)?;
        if message.blocks().iter().all(|block| block.tool_use().is_none()) {
            self.ready.push_back(Ok(Event::Message(message)));
            return Ok(());
        }
        let (start, end) = message.start_and_end();
        let start = Event::Stream(StreamEvent::MessageStart(start));
        let end = [StreamEvent::MessageDelta(end), StreamEvent::MessageStop].map(Event::Stream);
        let events = [start]
            .into_iter()
            .chain(message.blocks().iter().cloned().map(Event::Block))
            .chain(end);
        self.ready.extend(events.map(Ok));
        Ok(())
    }
}

/// Appends an event that appends to a text: to the last one, if that changes the same text.
fn push_text(ready: &mut VecDeque<Result<Event, String>>, event: &TextEvent<'_>) {
    if let Some(Ok(Event::Stream(StreamEvent::BlockDelta {
        delta: Delta::Texts(run),
        ..
    }))) = ready.back_mut()
        && run.push(event)
    {
        return;
    }
    ready.push_back(Ok(Event::Stream(StreamEvent::BlockDelta {
        index: event.index,
        delta: Delta::Texts(TextRun::new(event)),
    })));
}

impl std::fmt::Debug for UpstreamEvents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UpstreamEvents")
            .field("is_stream", &self.is_stream)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use axum::http::header;

    use super::*;

    const EVENT: &str = "event: ping\ndata: {\"type\":\"ping\"}\n\n";

    #[tokio::test]
    async fn endless_response_is_an_error() {
        for kind in ["text/event-stream", "application/json"] {
            let endless = futures_util::stream::repeat(Ok::<_, std::convert::Infallible>(EVENT));
            let response = Response::builder().header(header::CONTENT_TYPE, kind);
            let response = response.body(Body::from_stream(endless)).unwrap();
            let mut events = UpstreamEvents::with_limit(response, 1000);
            let error = loop {
                match events.next().await {
                    Ok(_) => {}
                    Err(error) => break error,
                }
            };
            assert_eq!(error, "the upstream's response broke off: length limit exceeded");
        }
    }

    /// Some streams panic when they are asked again.
    #[tokio::test]
    async fn body_is_not_read_beyond_its_end() {
        let message = r#"{"type":"message","id":"m","role":"assistant","model":"m","usage":{},"stop_reason":"tool_use",
            "content":[{"type":"tool_use","id":"toolu_a","name":"lookup","input":{}}]}"#;
        let once = futures_util::stream::unfold(Some(message), async |rest| {
            rest.map(|message| (Ok::<_, std::convert::Infallible>(message), None))
        });
        let mut events = UpstreamEvents::new(Response::new(Body::from_stream(once)));
        while !matches!(
            events.next().await.unwrap(),
            Event::Stream(StreamEvent::MessageStop)
        ) {}
    }
}
