//! [`Connection`]: a connection to the upstream, which the request that has it drives.
//!
//! `hyper` leaves it to its caller who polls a connection. In a separate task, as in `hyper-util`, each piece of a response wakes
//! that task, which wakes the one that waits for the piece, often on another thread; that costs more than all else that is done with the
//! piece. Polled by the request itself, a connection wakes it once for all that has arrived.

use std::future::{Future as _, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use axum::http::{Request, Response};
use bytes::Bytes;
use http_body::{Body as _, Frame};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::self_wakes::SelfWakes;

pub(super) type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;

/// A connection of HTTP/1.1.
pub(super) struct Connection {
    requests: SendRequest<Full<Bytes>>,
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

    /// Sends a request, and waits for the head of its response. The error has the request if nothing of it was sent.
    pub(super) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Full<Bytes>>>> {
        let Self { requests, io, wakes } = self;
        let mut response = pin!(requests.try_send_request(request));
        let mut exchange = |cx: &mut Context<'_>| {
            io.poll(cx);
            response.as_mut().poll(cx)
        };
        poll_fn(|cx| wakes.poll(cx, &mut exchange)).await
    }

    /// The next piece of the body of its response.
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
            // It reads what the body has just asked for.
            io.poll(cx);
            Pin::new(&mut *body).poll_frame(cx)
        })
    }

    /// Whether it can take a request: the response before is read to its end, and the upstream has not closed the connection.
    pub(super) fn is_ready(&mut self) -> bool {
        // Until a request polls it, it wakes no task.
        self.io.poll(&mut Context::from_waker(Waker::noop()));
        self.io.0.is_some() && self.requests.is_ready()
    }
}

/// The future that reads and writes; `None` after its end, which `hyper` reports to the response or its body.
struct Io(Option<Pin<Box<Http1>>>);

type Http1 = http1::Connection<Stream, Full<Bytes>>;

impl Io {
    fn poll(&mut self, cx: &mut Context<'_>) {
        if let Some(io) = &mut self.0
            && io.as_mut().poll(cx).is_ready()
        {
            self.0 = None;
        }
    }
}
