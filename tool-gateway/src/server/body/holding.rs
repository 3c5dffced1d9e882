//! [`Holding`]: keeps a value alive until a response has been sent.

use std::pin::Pin;
use std::task::Context;

use bytes::Bytes;
use http_body::Body;

use crate::wrapped_body::{BodyWrapper, FramePoll};

/// Holds a value until the body has been sent or the client has disconnected, and then drops the value.
pub(crate) struct Holding<T>(pub(crate) T);

impl<B: Body<Data = Bytes> + Unpin, T> BodyWrapper<B> for Holding<T> {
    fn poll_frame(&mut self, body: &mut B, cx: &mut Context<'_>) -> FramePoll<B::Error> {
        Pin::new(body).poll_frame(cx)
    }
}
