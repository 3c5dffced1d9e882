//! [`FlushedBody`]: a body that lets the server send what came before it fails.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};

/// A body whose error comes one poll later. When a body fails, hyper closes the connection and drops what it has not written yet; it
/// writes when a body has nothing more for now.
pub(crate) struct FlushedBody {
    body: Body,
    error: Option<axum::Error>,
}

impl FlushedBody {
    pub(crate) fn wrap(body: Body) -> Body {
        Body::new(Self { body, error: None })
    }
}

impl HttpBody for FlushedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Some(error) = self.error.take() {
            return Poll::Ready(Some(Err(error)));
        }
        match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
            Some(Err(error)) => {
                self.error = Some(error);
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            frame => Poll::Ready(frame),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.error.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
