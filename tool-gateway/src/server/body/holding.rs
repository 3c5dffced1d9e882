//! [`Holding`]: a value that lives as long as a response.

use std::pin::Pin;
use std::task::Context;

use bytes::Bytes;
use http_body::Body;

use crate::wrapped_body::{BodyWrapper, FramePoll};

/// Holds a value, which is dropped when the body has been sent, or when its client has disconnected.
pub(crate) struct Holding<T>(pub(crate) T);

impl<B: Body<Data = Bytes> + Unpin, T> BodyWrapper<B> for Holding<T> {
    fn poll_frame(&mut self, body: &mut B, cx: &mut Context<'_>) -> FramePoll<B::Error> {
        Pin::new(body).poll_frame(cx)
    }
}
