//! [`WrappedBody`]: a body inside another body. The crate has no other implementation of `http_body::Body`.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// Next frame of a body.
pub(crate) type FramePoll<E> = Poll<Option<Result<Frame<Bytes>, E>>>;

/// Changes the frames of a body of type `B`. By default, end and size are the end and size of `B`.
pub(crate) trait BodyWrapper<B: Body<Data = Bytes>> {
    fn poll_frame(&mut self, body: &mut B, cx: &mut Context<'_>) -> FramePoll<B::Error>;

    fn is_end_stream(&self, body: &B) -> bool {
        body.is_end_stream()
    }

    fn size_hint(&self, body: &B) -> SizeHint {
        body.size_hint()
    }
}

/// A body whose frames are changed by a [`BodyWrapper`].
pub(crate) struct WrappedBody<B, W> {
    body: B,
    wrapper: W,
}

impl<B, W> WrappedBody<B, W> {
    pub(crate) fn new(body: B, wrapper: W) -> Self {
        Self { body, wrapper }
    }
}

impl<B, W> Body for WrappedBody<B, W>
where
    B: Body<Data = Bytes> + Unpin,
    W: BodyWrapper<B> + Unpin,
{
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> FramePoll<B::Error> {
        let Self { body, wrapper } = &mut *self;
        wrapper.poll_frame(body, cx)
    }

    fn is_end_stream(&self) -> bool {
        self.wrapper.is_end_stream(&self.body)
    }

    fn size_hint(&self) -> SizeHint {
        self.wrapper.size_hint(&self.body)
    }
}
