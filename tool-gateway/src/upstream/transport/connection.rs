//! [`Connection`]: a connection to the upstream, which is polled by its current request.
//!
//! With `hyper`, the caller decides which task polls a connection. In a separate task, as in `hyper-util`, each piece of a response wakes
//! that task, which then wakes the task that waits for the piece, often on another thread. These wakes cost more than all other work for
//! the piece. A connection that the request polls wakes the request once for all bytes that have arrived.

use std::future::{Future as _, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use axum::body::Body;
use axum::http::{Request, Response};
use bytes::Bytes;
use http_body::{Body as _, Frame};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::self_wakes::SelfWakes;

/// Body of a request: complete, or streamed from the client.
pub(super) type RequestBody = Either<Full<Bytes>, Body>;

pub(super) type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;

/// An HTTP/1.1 connection.
pub(super) struct Connection {
    requests: SendRequest<RequestBody>,
    io: Io,
    wakes: SelfWakes,
}

impl Connection {
    pub(super) async fn new(stream: Stream) -> hyper::Result<Self> {
        let (requests, io) = http1::handshake(stream).await?;
        Ok(Self {
            requests,
            io: Io(Some(Box::pin(io))),
            wakes: SelfWakes::default(),
        })
    }

    /// Sends a request, and waits for the head of the response. The error contains the request if no byte of the request was sent.
    pub(super) async fn send(
        &mut self,
        request: Request<RequestBody>,
    ) -> Result<Response<Incoming>, TrySendError<Request<RequestBody>>> {
        let Self { requests, io, wakes } = self;
        let mut response = pin!(requests.try_send_request(request));
        let mut exchange = |cx: &mut Context<'_>| {
            io.poll(cx);
            response.as_mut().poll(cx)
        };
        poll_fn(|cx| wakes.poll(cx, &mut exchange)).await
    }

    /// Polls for the next piece of a response's body.
    pub(super) fn poll_frame(
        &mut self,
        body: &mut Incoming,
        cx: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let Self { io, wakes, .. } = self;
        wakes.poll(cx, |cx| {
            if let Poll::Ready(frame) = Pin::new(&mut *body).poll_frame(cx) {
                return Poll::Ready(frame);
            }
            // Reads the bytes that the body has just requested.
            io.poll(cx);
            Pin::new(&mut *body).poll_frame(cx)
        })
    }

    /// Returns whether the connection can serve a request: the previous response is read to its end, and the upstream has not closed the
    /// connection.
    pub(super) fn is_ready(&mut self) -> bool {
        // Without a request, no task needs to be woken.
        self.io.poll(&mut Context::from_waker(Waker::noop()));
        self.io.0.is_some() && self.requests.is_ready()
    }
}

/// Future that reads and writes; `None` after its end, which `hyper` reports to the response or the body.
struct Io(Option<Pin<Box<Http1>>>);

type Http1 = http1::Connection<Stream, RequestBody>;

impl Io {
    fn poll(&mut self, cx: &mut Context<'_>) {
        if let Some(io) = &mut self.0
            && io.as_mut().poll(cx).is_ready()
        {
            self.0 = None;
        }
    }
}
