//! Accepts connections, and serves each connection until its client disconnects or the program stops.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{Request, Version, header};
use axum::response::{IntoResponse as _, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;

use super::client_stream::{ClientStream, Heads};
use crate::self_wakes::SelfWakes;
use crate::settings::limits::Limits;
use crate::wire::error::ApiError;

/// Timeouts of a client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientTimes {
    /// Timeout of the head of a request, and of each write of a response.
    pub(crate) idle: Duration,
    /// Time from the end of a response to the next request.
    pub(crate) keep_alive: Duration,
}

impl ClientTimes {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            idle: limits.client_idle,
            keep_alive: limits.keep_alive,
        }
    }
}

/// Serves until `stop` is ready. Then no more connections are accepted, and the function returns at the end of all running requests.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    times: ClientTimes,
    stop: impl Future<Output = ()>,
) {
    let connections = GracefulShutdown::new();
    let mut stop = pin!(stop);
    let mut earliest = tokio::time::interval(EARLIEST);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = earliest.tick() => continue,
            () = &mut stop => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                wait_after(&error).await;
                continue;
            }
        };
        // Events are small, and clients wait for each event.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection delays small writes");
        }
        tokio::spawn(connection(stream, router.clone(), times, Some(&connections)));
    }
    drop(listener);
    connections.shutdown().await;
}

/// Serves a connection until its end.
fn connection<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    router: Router,
    times: ClientTimes,
    connections: Option<&GracefulShutdown>,
) -> impl Future<Output = ()> + Send + 'static {
    let heads = Arc::new(Heads::default());
    let stream = ClientStream::new(stream, Arc::clone(&heads), times.idle);
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |request: Request<Incoming>| {
        heads.next();
        // HTTP/1.0 has no `Host`.
        let lacks_host =
            request.version() == Version::HTTP_11 && !request.headers().contains_key(header::HOST);
        let response = (!lacks_host).then(|| router.call(request));
        let heads = Arc::clone(&heads);
        async move {
            let response = match response {
                Some(response) => response.await,
                None => Ok(missing_host()),
            };
            heads.next();
            response
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(times.keep_alive)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection: Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>> = match connections {
        Some(connections) => Box::pin(connections.watch(connection)),
        None => Box::pin(connection),
    };
    async move {
        let wakes = SelfWakes::default();
        if let Err(error) = poll_fn(|cx| wakes.poll(cx, |cx| connection.as_mut().poll(cx))).await {
            tracing::debug!(%error, "a connection failed");
        }
    }
}

/// Returns the error of a request of HTTP/1.1 without `Host` (RFC 9112 § 3.2).
fn missing_host() -> Response {
    ApiError::invalid("missing header `Host`; send one").into_response()
}

/// Period of a timer that ends before the timers of requests. The runtime wakes the thread that waits for the network whenever a new timer
/// is the first to end. Without this timer, each request would wake the thread.
const EARLIEST: Duration = Duration::from_secs(1);

/// Waits after a failed accept. Without free file descriptors or memory, accepting fails until a connection ends, and a loop without a wait
/// would use all of the processor.
async fn wait_after(error: &io::Error) {
    let is_of_connection = matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
    );
    if !is_of_connection {
        tracing::error!(%error, "no connection can be accepted; trying again in a second");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::extract::Request;
    use axum::routing::{get, post};
    use bytes::Bytes;
    use futures_util::stream;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
    use tokio::task::JoinHandle;
    use tokio::time::Instant;

    use super::*;

    const TIMES: ClientTimes = ClientTimes {
        idle: Duration::from_secs(30),
        keep_alive: Duration::from_secs(75),
    };

    /// Returns the client's end of a connection, and its server.
    fn connect(router: Router) -> (DuplexStream, JoinHandle<()>) {
        let (client, server) = tokio::io::duplex(1000);
        (client, tokio::spawn(connection(server, router, TIMES, None)))
    }

    /// Returns the number of seconds until the server closes a connection on which a client sends this text and reads all responses.
    async fn closed_after(router: Router, sent: &[(u64, &str)]) -> (u64, String) {
        let (client, server) = connect(router);
        let (mut read, mut write) = tokio::io::split(client);
        let began = Instant::now();
        let reading = tokio::spawn(async move {
            let mut text = String::new();
            read.read_to_string(&mut text).await.unwrap();
            (began.elapsed().as_secs(), text)
        });
        for (seconds, text) in sent {
            tokio::time::sleep(Duration::from_secs(*seconds)).await;
            let _ = write.write_all(text.as_bytes()).await;
        }
        server.await.unwrap();
        reading.await.unwrap()
    }

    fn router() -> Router {
        let silent = || async {
            let pieces = stream::unfold((), |()| async {
                tokio::time::sleep(Duration::from_secs(100)).await;
                Some((Ok::<_, io::Error>(Bytes::from_static(b"piece")), ()))
            });
            Body::from_stream(futures_util::StreamExt::take(pieces, 2))
        };
        let whole =
            |request: Request| async { axum::body::to_bytes(request.into_body(), 1000).await.unwrap() };
        Router::new()
            .route("/", get(|| async { "ok" }))
            .route("/silent", get(silent))
            .route("/whole", post(whole))
    }

    const GET: &str = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";

    #[tokio::test(start_paused = true)]
    async fn closes_connections_with_slow_heads() {
        for (sent, seconds, answers) in [
            (&[(0, "")][..], 75, 0),
            (&[(0, GET)], 75, 1),
            (&[(0, GET), (70, GET)], 145, 2),
            (&[(0, "GET / HTTP/1.1\r\nho")], 30, 0),
            // The timeout applies to the whole head.
            (&[(0, "G"), (20, "ET / HTTP/1.1\r\n"), (5, "host: ")], 30, 0),
            (
                &[(0, GET), (40, "GET"), (29, " / HTTP/1.1\r\nhost: a\r\n\r\n")],
                144,
                2,
            ),
        ] {
            let (closed, text) = closed_after(router(), sent).await;
            assert_eq!(
                (closed, text.matches("200 OK").count()),
                (seconds, answers),
                "{sent:?}: {text}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn keeps_connections_with_slow_responses_and_bodies() {
        let request = "GET /silent HTTP/1.1\r\nhost: a\r\n\r\n";
        let (closed, text) = closed_after(router(), &[(0, request)]).await;
        assert_eq!((closed, text.matches("piece").count()), (200 + 75, 2), "{text}");
        let head = "POST /whole HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\n";
        let sent = [(0, head), (29, "a"), (29, "b"), (29, "c")];
        let (closed, text) = closed_after(router(), &sent).await;
        assert_eq!(closed, 3 * 29 + 75, "{text}");
        assert!(text.contains("100 Continue") && text.ends_with("abc"), "{text}");
    }

    #[tokio::test(start_paused = true)]
    async fn client_that_does_not_read_is_closed_with_its_response() {
        let sending = Arc::new(());
        let sent = Arc::downgrade(&sending);
        let endless = move || {
            let sending = sent.upgrade().unwrap();
            async move {
                let pieces = stream::unfold(sending, |sending| async {
                    Some((Ok::<_, io::Error>(Bytes::from_static(&[b'x'; 500])), sending))
                });
                Body::from_stream(pieces)
            }
        };
        let (mut client, server) = connect(Router::new().route("/", get(endless)));
        let began = Instant::now();
        client.write_all(GET.as_bytes()).await.unwrap();
        // A slow reader keeps its connection.
        for _ in 0..5 {
            tokio::time::sleep(Duration::from_secs(29)).await;
            assert!(client.read(&mut [0; 100]).await.unwrap() > 0);
        }
        server.await.unwrap();
        assert_eq!(Arc::strong_count(&sending), 1, "the response is dropped");
        assert_eq!(began.elapsed().as_secs(), 5 * 29 + 30);
    }
}
