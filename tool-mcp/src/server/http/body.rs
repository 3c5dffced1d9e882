//! [`McpBody`]: the body of a response, whole or as server-sent events.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, sleep};
use tool_runtime::CancellationToken;

/// Time without an event after which a comment is sent, so that proxies keep the connection open.
const SILENCE: Duration = Duration::from_secs(15);

/// Body of a response of [`McpService`](crate::McpService).
pub struct McpBody(BodyKind);

enum BodyKind {
    Whole(Bytes),
    Events(Box<EventBody>),
}

/// Events up to the end of a call or of a subscription.
struct EventBody {
    events: mpsc::Receiver<Bytes>,
    next_comment: Pin<Box<Sleep>>,
    _guard: CancelOnDrop,
}

/// Cancels a call when its client has gone, unless the call has ended.
#[derive(Debug)]
pub(crate) struct CancelOnDrop(pub(crate) Option<CancellationToken>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(cancellation) = &self.0 {
            cancellation.cancel();
        }
    }
}

impl McpBody {
    pub(crate) fn empty() -> Self {
        Self(BodyKind::Whole(Bytes::new()))
    }

    pub(crate) fn json(message: &Value) -> Self {
        Self(BodyKind::Whole(message.to_string().into()))
    }

    /// Creates a body of events. The guard is dropped with the body.
    pub(crate) fn events(events: mpsc::Receiver<Bytes>, guard: CancelOnDrop) -> Self {
        Self(BodyKind::Events(Box::new(EventBody {
            events,
            next_comment: Box::pin(sleep(SILENCE)),
            _guard: guard,
        })))
    }
}

/// Returns a server-sent event with a message.
pub(crate) fn event(message: &Value) -> Bytes {
    format!("event: message\ndata: {message}\n\n").into()
}

impl EventBody {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let event = match self.events.poll_recv(context) {
            Poll::Ready(event) => event,
            Poll::Pending => {
                ready!(self.next_comment.as_mut().poll(context));
                Some(Bytes::from_static(b":\n\n"))
            }
        };
        self.next_comment.as_mut().reset(Instant::now() + SILENCE);
        Poll::Ready(event)
    }
}

impl Body for McpBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = match &mut self.get_mut().0 {
            BodyKind::Whole(bytes) => (!bytes.is_empty()).then(|| std::mem::take(bytes)),
            BodyKind::Events(stream) => ready!(stream.poll_next(context)),
        };
        Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, BodyKind::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            BodyKind::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            BodyKind::Events(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for McpBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpBody").finish_non_exhaustive()
    }
}
