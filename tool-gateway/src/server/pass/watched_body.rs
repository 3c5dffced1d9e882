//! [`WatchedBody`]: a body that passes unchanged, and is read on its way, so that the session is known later.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use http_body::Body as HttpBody;

use super::passed_turn::PassedTurn;
use super::passing_message::PassingMessage;

/// The body of a message that passes. What completes the message waits until the turn is stored: a client that has the message can go
/// on from it.
pub(crate) struct WatchedBody {
    body: Body,
    /// `None` when the message is over.
    passing: Option<(PassingMessage, PassedTurn)>,
    ending: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    held: Option<HeldFrame>,
}

type HeldFrame = Option<Result<http_body::Frame<Bytes>, axum::Error>>;

impl WatchedBody {
    pub(crate) fn wrap(body: Body, message: PassingMessage, turn: PassedTurn) -> Body {
        Body::new(Self {
            body,
            passing: Some((message, turn)),
            ending: None,
            held: None,
        })
    }

    /// Reads what passes; whether it has to wait.
    fn read(&mut self, frame: &HeldFrame) -> bool {
        let Some((message, _)) = &mut self.passing else {
            return false;
        };
        let is_over = match frame {
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    message.push(data);
                }
                // After its announced length, no one asks for more.
                message.is_complete || self.body.size_hint().exact() == Some(0)
            }
            Some(Err(_)) | None => true,
        };
        if is_over && let Some((message, turn)) = self.passing.take() {
            self.ending = Some(Box::pin(turn.end(message.finish())));
        }
        is_over
    }
}

/// The client has gone away: what the message took until then is counted.
impl Drop for WatchedBody {
    fn drop(&mut self) {
        if let Some((message, mut turn)) = self.passing.take() {
            turn.set_usage(message.finish().usage);
        }
    }
}

impl HttpBody for WatchedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, axum::Error>>> {
        if self.held.is_none() {
            let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(cx));
            if !self.read(&frame) {
                return Poll::Ready(frame);
            }
            self.held = Some(frame);
        }
        if let Some(ending) = &mut self.ending {
            std::task::ready!(ending.as_mut().poll(cx));
            self.ending = None;
        }
        Poll::Ready(self.held.take().flatten())
    }

    fn is_end_stream(&self) -> bool {
        // The end has to be polled, or it would not be seen.
        false
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match &self.held {
            Some(Some(Ok(frame))) => {
                let held = frame.data_ref().map_or(0, |data| data.len() as u64);
                self.body
                    .size_hint()
                    .exact()
                    .map_or_else(http_body::SizeHint::default, |rest| {
                        http_body::SizeHint::with_exact(rest.saturating_add(held))
                    })
            }
            _ => self.body.size_hint(),
        }
    }
}
