//! [`ClientStream`]: the connection of a client, which fails if the client is too slow.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::server::body::idle::{IdleTimeout, IdleTimer};

/// Connection that fails if a client takes too long to send the head of a request, or does not read a response.
///
/// hyper's own timer for the head of a request is not used, since it starts at the end of the previous request. hyper limits the time
/// between requests.
pub(super) struct ClientStream<S> {
    stream: S,
    heads: Arc<Heads>,
    /// Number of heads at the last read.
    known_heads: usize,
    /// Whether a part of a head has been read.
    is_in_head: bool,
    head_timer: IdleTimer,
    write_timer: IdleTimer,
}

/// Number of complete heads plus number of begun responses. The sum is odd from the end of a head to the beginning of the response.
#[derive(Debug, Default)]
pub(super) struct Heads(AtomicUsize);

impl Heads {
    /// Records that a head is complete, or that the response to a request begins.
    pub(super) fn next(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl<S> ClientStream<S> {
    /// Creates a connection with the timeout `idle` for the head of a request, from its first byte, and for each write.
    pub(super) fn new(stream: S, heads: Arc<Heads>, idle: Duration) -> Self {
        Self {
            stream,
            heads,
            known_heads: 0,
            is_in_head: false,
            head_timer: IdleTimer::new(idle),
            write_timer: IdleTimer::new(idle),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ClientStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let heads = this.heads.0.load(Ordering::Relaxed);
        if heads != this.known_heads {
            this.known_heads = heads;
            this.is_in_head = false;
            this.head_timer.stop();
        }
        let read = Pin::new(&mut this.stream).poll_read(cx, buffer);
        if read.is_ready() {
            this.is_in_head = heads.is_multiple_of(2);
            return read;
        }
        if !this.is_in_head {
            return Poll::Pending;
        }
        let idle = ready!(this.head_timer.poll_elapsed(cx));
        Poll::Ready(Err(timed_out(idle)))
    }
}

impl<S: AsyncWrite + Unpin> ClientStream<S> {
    fn poll_io<T>(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let stream = Pin::new(&mut self.stream);
        let written = ready!(self.write_timer.poll(cx, |cx| write(stream, cx)));
        Poll::Ready(written.unwrap_or_else(|idle| Err(timed_out(idle))))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ClientStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_io(cx, |stream, cx| stream.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_io(cx, |stream, cx| stream.poll_write_vectored(cx, pieces))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

fn timed_out(idle: IdleTimeout) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, idle)
}
