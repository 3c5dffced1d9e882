//! [`PassedBody`]: reads a message that passes unchanged, so that later requests find its session.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody as _};
use http_body::{Frame, SizeHint};

use super::passed_turn::PassedTurn;
use super::passing_message::PassingMessage;
use crate::wrapped_body::{BodyWrapper, FramePoll, WrappedBody};

/// Reads the body of a passed message. The frame that completes the message is held until the turn is stored, since a client that has the
/// message may send the next request at once.
pub(crate) struct PassedBody {
    /// `None` when the message is complete.
    passing: Option<(PassingMessage, PassedTurn)>,
    ending: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    held: Option<HeldFrame>,
}

type HeldFrame = Option<Result<Frame<Bytes>, axum::Error>>;

impl PassedBody {
    pub(crate) fn wrap(body: Body, message: PassingMessage, turn: PassedTurn) -> Body {
        let reader = Self {
            passing: Some((message, turn)),
            ending: None,
            held: None,
        };
        Body::new(WrappedBody::new(body, reader))
    }

    /// Reads a frame. Returns whether the frame has to wait.
    fn read(&mut self, body: &Body, frame: &HeldFrame) -> bool {
        let Some((message, _)) = &mut self.passing else {
            return false;
        };
        let is_over = match frame {
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    message.push(data);
                }
                // After `content-length` bytes, the body is not polled again.
                message.is_complete || body.size_hint().exact() == Some(0)
            }
            Some(Err(_)) | None => true,
        };
        if is_over && let Some((message, turn)) = self.passing.take() {
            self.ending = Some(Box::pin(turn.end(message.finish())));
        }
        is_over
    }
}

/// After a disconnect of the client, counts the usage up to the disconnect.
impl Drop for PassedBody {
    fn drop(&mut self) {
        if let Some((message, mut turn)) = self.passing.take() {
            turn.set_usage(message.finish().usage);
        }
    }
}

impl BodyWrapper<Body> for PassedBody {
    fn poll_frame(&mut self, body: &mut Body, cx: &mut Context<'_>) -> FramePoll<axum::Error> {
        if self.held.is_none() {
            let frame = ready!(Pin::new(&mut *body).poll_frame(cx));
            if !self.read(body, &frame) {
                return Poll::Ready(frame);
            }
            self.held = Some(frame);
        }
        if let Some(ending) = &mut self.ending {
            ready!(ending.as_mut().poll(cx));
            self.ending = None;
        }
        Poll::Ready(self.held.take().flatten())
    }

    /// Returns `false`, since the end is noticed only if the body is polled.
    fn is_end_stream(&self, _: &Body) -> bool {
        false
    }

    fn size_hint(&self, body: &Body) -> SizeHint {
        let Some(Some(Ok(frame))) = &self.held else {
            return body.size_hint();
        };
        let held = frame.data_ref().map_or(0, |data| data.len() as u64);
        let rest = body.size_hint().exact();
        rest.map_or_else(SizeHint::default, |rest| {
            SizeHint::with_exact(rest.saturating_add(held))
        })
    }
}
