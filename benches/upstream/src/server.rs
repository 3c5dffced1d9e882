//! The upstream: a server on loopback, on a separate thread, with as little work as possible.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::LazyLock;
use std::sync::mpsc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, header};
use http_body::{Body, Frame};
use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

/// An answer of the server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// A message of 1 KB.
    Plain,
    /// A message of 1 MB.
    Large,
    /// A message of 56 server-sent events, each written to the socket separately.
    Stream,
    /// The received request: its headers, sorted, and its body.
    Echo,
}

impl Answer {
    pub const TIMED: [Self; 3] = [Self::Plain, Self::Large, Self::Stream];

    pub fn path(self) -> &'static str {
        match self {
            Self::Plain => "/plain",
            Self::Large => "/large",
            Self::Stream => "/stream",
            Self::Echo => "/echo",
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            Self::Plain => "JSON, 1 KB",
            Self::Large => "JSON, 1 MB",
            Self::Stream => "56 events",
            Self::Echo => "the request",
        }
    }

    /// Returns the expected body; `None` for [`Answer::Echo`], whose body varies.
    pub fn body(self) -> Option<Bytes> {
        match self {
            Self::Plain => Some(PLAIN.clone()),
            Self::Large => Some(LARGE.clone()),
            Self::Stream => Some(EVENTS.concat().into()),
            Self::Echo => None,
        }
    }
}

/// Starts the server, which ends with the process.
pub fn start() -> SocketAddr {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            sender
                .send(listener.local_addr().expect("an address"))
                .expect("a receiver");
            loop {
                let (connection, _) = listener.accept().await.expect("a connection");
                tokio::spawn(serve(connection));
            }
        });
    });
    receiver.recv().expect("the server's address")
}

async fn serve(connection: TcpStream) {
    connection.set_nodelay(true).expect("an open socket");
    let connection = http1::Builder::new().serve_connection(TokioIo::new(connection), service_fn(respond));
    // A client may close its connections at any time.
    let _ = connection.await;
}

async fn respond(request: Request<Incoming>) -> Result<Response<Either<Full<Bytes>, Events>>, hyper::Error> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let (kind, answer) = match parts.uri.path() {
        "/plain" => (JSON, Either::Left(Full::new(PLAIN.clone()))),
        "/large" => (JSON, Either::Left(Full::new(LARGE.clone()))),
        "/stream" => (EVENT_STREAM, Either::Right(Events::default())),
        "/echo" => {
            let text = format!("{} {}\n{}", parts.method, parts.uri, headers(&parts.headers));
            (
                JSON,
                Either::Left(Full::new([text.as_bytes(), &body].concat().into())),
            )
        }
        path => panic!("unknown path {path}"),
    };
    let response = Response::builder()
        .header(header::CONTENT_TYPE, kind)
        .header("request-id", "req_011CSHoEeqs5C35K2UUqR7Fy")
        .header(
            "anthropic-organization-id",
            "5b8f0c0e-7c5c-4b0e-9a55-1f8d1d6f6c0a",
        )
        .header("anthropic-ratelimit-requests-remaining", "3999")
        .header("anthropic-ratelimit-tokens-remaining", "399000");
    Ok(response.body(answer).expect("a valid response"))
}

const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream; charset=utf-8";

/// Writes sorted headers, one on each line.
pub fn headers(headers: &http::HeaderMap) -> String {
    let mut fields: Vec<_> = headers.iter().collect();
    fields.sort_by_key(|(name, _)| name.as_str());
    fields.iter().fold(String::new(), |mut text, (name, value)| {
        writeln!(text, "{name}: {value:?}").expect("memory");
        text
    })
}

static PLAIN: LazyLock<Bytes> = LazyLock::new(|| message(1_000));
static LARGE: LazyLock<Bytes> = LazyLock::new(|| message(1_000_000));
static EVENTS: LazyLock<Vec<Bytes>> = LazyLock::new(events);

/// Builds a message of this many bytes.
fn message(bytes: usize) -> Bytes {
    let start = r#"{"id":"msg_01XFDUDYJgAACzvnptvVoYEL","type":"message","role":"assistant","model":"claude","content":[{"type":"text","text":""#;
    let end = r#""}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":25,"output_tokens":15}}"#;
    let text: String = "Hello, world. "
        .chars()
        .cycle()
        .take(bytes - start.len() - end.len())
        .collect();
    format!("{start}{text}{end}").into()
}

/// Builds a streamed message of the Messages API.
fn events() -> Vec<Bytes> {
    let event =
        |kind: &str, rest: &str| format!("event: {kind}\ndata: {{\"type\":\"{kind}\"{rest}}}\n\n").into();
    let mut events: Vec<Bytes> = vec![
        event(
            "message_start",
            r#","message":{"id":"msg_01XFDUDYJgAACzvnptvVoYEL","type":"message","role":"assistant","model":"claude","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"output_tokens":1}}"#,
        ),
        event(
            "content_block_start",
            r#","index":0,"content_block":{"type":"text","text":""}"#,
        ),
        event("ping", ""),
    ];
    events.extend((0..50).map(|number| {
        let delta =
            format!(r#","index":0,"delta":{{"type":"text_delta","text":"Some words, number {number}. "}}"#);
        event("content_block_delta", &delta)
    }));
    events.extend([
        event("content_block_stop", r#","index":0"#),
        event(
            "message_delta",
            r#","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":15}"#,
        ),
        event("message_stop", ""),
    ]);
    assert_eq!(events.len(), 56);
    events
}

/// Sends the events with a pause after each, in which hyper writes to the socket.
#[derive(Default)]
pub struct Events {
    next: usize,
    pause: bool,
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if std::mem::take(&mut self.pause) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let event = EVENTS.get(self.next).cloned();
        self.next += 1;
        self.pause = event.is_some();
        Poll::Ready(event.map(|event| Ok(Frame::data(event))))
    }
}
