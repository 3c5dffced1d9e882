//! [`Pool`]: the connections to a server. A connection whose response was read to its end serves the next request.

use std::collections::VecDeque;
use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response, Uri};
use http_body::Body as _;
use http_body_util::Either;
use hyper::body::Incoming;
use tokio::runtime::Handle;
use tokio::task::{JoinHandle, coop};
use tokio::time::Instant;
use tower_service::Service as _;

use super::connection::{Connection, RequestBody};
use super::connector::Connector;
use super::proxy::BoxError;
use crate::wrapped_body::{BodyWrapper, FramePoll, WrappedBody};

/// Time for which a connection without a request is kept.
const IDLE_TIME: Duration = Duration::from_secs(90);

/// Maximum number of connections without a request. Each idle connection takes a file descriptor, and a process often has at most 1,024.
const MAX_IDLE: usize = 256;

/// Interval of the checks for connections that the server has closed. Many servers close idle connections after a few seconds, and a socket
/// exists until both sides have closed it.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// Connections to one server.
pub(super) struct Pool {
    connector: Connector,
    server: Uri,
    idle: Arc<IdleTable>,
}

/// Error of a missing response.
pub(super) enum SendError {
    Connecting(BoxError),
    /// The connection ended before the response.
    NoResponse(hyper::Error),
}

impl SendError {
    pub(super) fn as_error(&self) -> &(dyn Error + 'static) {
        match self {
            Self::Connecting(error) => &**error,
            Self::NoResponse(error) => error,
        }
    }
}

impl Pool {
    pub(super) fn new(connector: Connector, server: Uri) -> Self {
        Self {
            connector,
            server,
            idle: Arc::default(),
        }
    }

    /// Sends a request, whose URI is a path and a query. If the server has closed a reused connection, the request is sent on another
    /// connection: any number of times if no byte of the request was sent, otherwise once, on a new connection. Servers and load balancers
    /// may close idle connections at any time, also while a request is sent.
    pub(super) async fn send(&self, mut request: Request<RequestBody>) -> Result<Response<Body>, SendError> {
        let mut is_repeated = false;
        loop {
            let idle = if is_repeated { None } else { self.idle.take() };
            // On a new connection, a missing response is the server's answer.
            let copy = idle.as_ref().and_then(|_| copied(&request));
            let is_new = idle.is_none();
            let mut connection = match idle {
                Some(connection) => connection,
                // Boxed, since it is rare, and larger than the rest of this future.
                None => Box::pin(self.connect()).await.map_err(SendError::Connecting)?,
            };
            match connection.send(request).await {
                Ok(response) => {
                    let idle = Arc::clone(&self.idle);
                    return Ok(response.map(|body| BorrowedConnection::wrap(body, connection, idle)));
                }
                Err(mut error) => {
                    let unsent = error.take_message().filter(|_| !is_new);
                    let error = error.into_error();
                    request = match (unsent, copy) {
                        (Some(unsent), _) => unsent,
                        (None, Some(copy)) if is_reset(&error) => {
                            is_repeated = true;
                            copy
                        }
                        _ => return Err(SendError::NoResponse(error)),
                    };
                }
            }
        }
    }

    async fn connect(&self) -> Result<Connection, BoxError> {
        let mut connector = self.connector.clone();
        poll_fn(|cx| connector.poll_ready(cx)).await?;
        let stream = connector.call(self.server.clone()).await?;
        Ok(Connection::new(stream).await?)
    }
}

/// Copies a request, if its body is whole.
fn copied(request: &Request<RequestBody>) -> Option<Request<RequestBody>> {
    let Either::Left(body) = request.body() else {
        return None;
    };
    let mut copy = Request::new(Either::Left(body.clone()));
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    Some(copy)
}

/// Returns whether a connection ended without a response.
fn is_reset(error: &hyper::Error) -> bool {
    error.is_incomplete_message() || error.source().is_some_and(<dyn Error>::is::<io::Error>)
}

/// Connections without a request, with the end times of their last requests, the latest last.
#[derive(Default)]
struct IdleTable(Mutex<IdleConnections>);

#[derive(Default)]
struct IdleConnections {
    connections: VecDeque<(Instant, Box<Connection>)>,
    /// Task that closes unusable connections. Ends with its runtime, which the pool may outlive.
    sweep: Option<JoinHandle<()>>,
}

impl IdleTable {
    fn lock(&self) -> MutexGuard<'_, IdleConnections> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the connection that was used last, so that the others can expire.
    fn take(&self) -> Option<Connection> {
        loop {
            let (_, mut connection) = self.lock().connections.pop_back()?;
            if connection.is_ready() {
                return Some(*connection);
            }
        }
    }

    fn put(self: &Arc<Self>, mut connection: Connection) {
        if !connection.is_ready() {
            return;
        }
        // Without a runtime, no task could read or close the connection.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let mut idle = self.lock();
        idle.connections.push_back((Instant::now(), Box::new(connection)));
        if idle.sweep.as_ref().is_none_or(JoinHandle::is_finished) {
            // The sweep polls each connection: with a cooperative budget, all after the first hundred would seem open.
            let sweep = coop::unconstrained(sweep(Arc::downgrade(self)));
            idle.sweep = Some(runtime.spawn(sweep));
        }
        let oldest = (idle.connections.len() > MAX_IDLE).then(|| idle.connections.pop_front());
        // Closing a socket takes too long to hold the lock.
        drop(idle);
        drop(oldest);
    }

    /// Closes connections that have expired or that the server has closed. Returns whether other connections remain.
    fn close_unusable(&self) -> bool {
        let now = Instant::now();
        let mut unusable = Vec::new();
        let mut idle = self.lock();
        for (since, mut connection) in mem::take(&mut idle.connections) {
            if since + IDLE_TIME > now && connection.is_ready() {
                idle.connections.push_back((since, connection));
            } else {
                unusable.push(connection);
            }
        }
        let is_empty = idle.connections.is_empty();
        if is_empty {
            idle.sweep = None;
        }
        drop(idle);
        drop(unusable);
        !is_empty
    }
}

/// Closes unusable idle connections until only usable ones remain.
async fn sweep(idle: Weak<IdleTable>) {
    loop {
        tokio::time::sleep(SWEEP_INTERVAL).await;
        if !idle.upgrade().is_some_and(|idle| idle.close_unusable()) {
            return;
        }
    }
}

/// Connection of a response's body, which returns to the pool at the end of the body. If dropped before the end, the connection is closed,
/// so that the server stops sending.
struct BorrowedConnection {
    connection: Option<Connection>,
    idle: Arc<IdleTable>,
}

impl BorrowedConnection {
    fn wrap(body: Incoming, connection: Connection, idle: Arc<IdleTable>) -> Body {
        let mut borrowed = Self {
            connection: Some(connection),
            idle,
        };
        // The end of an empty body is never polled.
        if body.is_end_stream() {
            borrowed.release();
        }
        Body::new(WrappedBody::new(body, borrowed))
    }

    /// Returns the connection to the pool.
    fn release(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.idle.put(connection);
        }
    }
}

impl BodyWrapper<Incoming> for BorrowedConnection {
    fn poll_frame(&mut self, body: &mut Incoming, cx: &mut Context<'_>) -> FramePoll<hyper::Error> {
        let Some(connection) = &mut self.connection else {
            return Poll::Ready(None);
        };
        // One read may provide many pieces, without a point at which the runtime could run other tasks.
        let turn = ready!(coop::poll_proceed(cx));
        let frame = ready!(connection.poll_frame(body, cx));
        turn.made_progress();
        // The end after trailers is never polled, either.
        let is_data = matches!(&frame, Some(Ok(frame)) if frame.is_data());
        if !is_data || body.is_end_stream() {
            self.release();
        }
        Poll::Ready(frame)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use axum::http::header;
    use http_body_util::{BodyExt as _, Full};
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use rustls::{ServerConfig, ServerConnection, StreamOwned};

    use super::*;

    /// Certificate for `localhost`, used only in this test.
    const CERTIFICATE: &[u8] = include_bytes!("../../../tests/upstream/localhost.certificate.der");
    const KEY: &[u8] = include_bytes!("../../../tests/upstream/localhost.key.der");
    const REQUESTS: usize = 3;

    #[tokio::test]
    async fn tls_connection_is_used_until_the_server_closes_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![CertificateDer::from(CERTIFICATE)],
                PrivateKeyDer::try_from(KEY).unwrap(),
            )
            .unwrap();
        let config = Arc::new(config);
        let (closed, mut is_closed) = tokio::sync::mpsc::channel(1);
        let piece = "x".repeat(50_000);
        let chunk = format!("{:x}\r\n{piece}\r\n", piece.len());
        let serving = thread::spawn(move || {
            for _ in 0..2 {
                let (stream, _) = listener.accept().unwrap();
                let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
                let mut stream = StreamOwned::new(connection, stream);
                for _ in 0..REQUESTS {
                    let mut request = Vec::new();
                    while !request.ends_with(b"{}") {
                        let mut buffer = [0; 1000];
                        let read = stream.read(&mut buffer).unwrap();
                        request.extend_from_slice(&buffer[..read]);
                    }
                    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
                    for part in [head, &chunk, &chunk, &chunk, "0\r\n\r\n"] {
                        stream.write_all(part.as_bytes()).unwrap();
                        stream.flush().unwrap();
                    }
                }
                stream.conn.send_close_notify();
                stream.flush().unwrap();
                drop(stream);
                closed.blocking_send(()).unwrap();
            }
        });
        let pool = Pool::new(Connector::trusting(CERTIFICATE), server.parse().unwrap());
        for sent in 1..=2 * REQUESTS {
            let request = Request::post("/").header(header::HOST, "localhost");
            let request = request.body(Either::Left(Full::from("{}"))).unwrap();
            let Ok(response) = pool.send(request).await else {
                panic!("no response to request {sent}");
            };
            let body = response.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(body, piece.repeat(3));
            if sent % REQUESTS == 0 {
                is_closed.recv().await.unwrap();
            }
        }
        serving.join().unwrap();
    }
}
