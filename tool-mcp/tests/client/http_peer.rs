//! Scripted server over HTTP: a tower service in this process, which answers each request by a function.

#![allow(
    clippy::needless_pass_by_value,
    reason = "the tests pass values that they have just made"
)]

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt as _, Full};
use tokio::sync::mpsc;
use tool_mcp::{McpClient, McpUrl};
use tool_runtime::serde_json::{Value, from_slice, json};
use tower_service::Service;

use crate::peer::initialized;

/// Request, as the server receives it.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) http_method: Method,
    pub(crate) headers: HeaderMap,
    /// Message; null without a body.
    pub(crate) message: Value,
}

impl Received {
    /// Returns the method of the protocol, or the HTTP method of a request without a message.
    pub(crate) fn method(&self) -> &str {
        self.message["method"].as_str().unwrap_or_else(|| {
            if self.message.is_null() {
                self.http_method.as_str()
            } else {
                "answer"
            }
        })
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Returns a response with this result.
    pub(crate) fn result(&self, result: Value) -> Reply {
        Reply::json(200, self.answer(result))
    }

    /// Returns a response with this error.
    pub(crate) fn error(&self, status: u16, error: Value) -> Reply {
        let message = json!({ "jsonrpc": "2.0", "id": self.message["id"], "error": error });
        Reply::json(status, message)
    }

    /// Returns the message with this result.
    pub(crate) fn answer(&self, result: Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": self.message["id"], "result": result })
    }
}

/// Response of the server.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    body: ReplyBody,
}

enum ReplyBody {
    Whole(Bytes),
    /// Pieces of a stream, whose length is unknown. An error ends the stream.
    Pieces(mpsc::UnboundedReceiver<Result<Bytes, io::Error>>),
    /// No response.
    Failure(io::ErrorKind),
    Silence,
}

/// Sends pieces of a stream. The stream ends with the last sender.
pub(crate) type Pieces = mpsc::UnboundedSender<Result<Bytes, io::Error>>;

impl Reply {
    fn new(status: u16, content_type: Option<&'static str>, body: ReplyBody) -> Self {
        let mut headers = HeaderMap::new();
        if let Some(content_type) = content_type {
            headers.insert("content-type", HeaderValue::from_static(content_type));
        }
        Self {
            status,
            headers,
            body,
        }
    }

    pub(crate) fn text(status: u16, content_type: &'static str, text: impl Into<String>) -> Self {
        Self::new(status, Some(content_type), ReplyBody::Whole(text.into().into()))
    }

    pub(crate) fn json(status: u16, message: Value) -> Self {
        Self::text(status, "application/json", message.to_string())
    }

    pub(crate) fn empty(status: u16) -> Self {
        Self::new(status, None, ReplyBody::Whole(Bytes::new()))
    }

    pub(crate) fn failure(kind: io::ErrorKind) -> Self {
        Self::new(200, None, ReplyBody::Failure(kind))
    }

    pub(crate) fn silence() -> Self {
        Self::new(200, None, ReplyBody::Silence)
    }

    /// Returns a stream of events, and its sender.
    pub(crate) fn stream(content_type: &'static str) -> (Self, Pieces) {
        let (sender, pieces) = mpsc::unbounded_channel();
        (
            Self::new(200, Some(content_type), ReplyBody::Pieces(pieces)),
            sender,
        )
    }

    /// Returns a stream of events that ends after this text.
    pub(crate) fn events(text: impl Into<String>) -> Self {
        let (reply, sender) = Self::stream("text/event-stream");
        sender.send(Ok(text.into().into())).unwrap();
        reply
    }

    pub(crate) fn with_header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.insert(name, HeaderValue::from_static(value));
        self
    }
}

/// Returns an event with a message.
pub(crate) fn event(message: &Value) -> String {
    format!("data: {message}\n\n")
}

/// Body of a response, which counts bodies that are dropped before their end.
pub(crate) struct PeerBody {
    whole: Option<Full<Bytes>>,
    pieces: Option<mpsc::UnboundedReceiver<Result<Bytes, io::Error>>>,
    dropped: Arc<AtomicUsize>,
    is_ended: bool,
}

impl http_body::Body for PeerBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let frame = if let Some(whole) = &mut self.whole {
            Pin::new(whole)
                .poll_frame(cx)
                .map(|frame| frame.map(|frame| Ok(frame.unwrap())))
        } else {
            let pieces = self.pieces.as_mut().unwrap();
            pieces
                .poll_recv(cx)
                .map(|piece| piece.map(|piece| piece.map(Frame::data)))
        };
        if matches!(frame, Poll::Ready(None | Some(Err(_)))) {
            self.is_ended = true;
        }
        frame
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.whole
            .as_ref()
            .map(http_body::Body::size_hint)
            .unwrap_or_default()
    }
}

impl Drop for PeerBody {
    fn drop(&mut self) {
        if self.pieces.is_some() && !self.is_ended {
            self.dropped.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Server, which is the HTTP client of the MCP client, too.
#[derive(Clone)]
pub(crate) struct HttpPeer {
    answer: Arc<dyn Fn(&Received) -> Reply + Send + Sync>,
    received: Arc<Mutex<Vec<Received>>>,
    /// Number of streams that the client has closed before their end.
    dropped: Arc<AtomicUsize>,
}

impl HttpPeer {
    pub(crate) fn new(answer: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Self {
        Self {
            answer: Arc::new(answer),
            received: Arc::default(),
            dropped: Arc::default(),
        }
    }

    /// Creates a server without a handshake. `call` answers requests other than `server/discover` and `tools/list`.
    pub(crate) fn modern(tools: Value, call: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Self {
        Self::new(move |request| match request.method() {
            "server/discover" => request.result(crate::peer::discovered(&["2026-07-28"])["result"].clone()),
            "tools/list" => request.result(json!({ "tools": tools })),
            _ => call(request),
        })
    }

    /// Creates a server of revision 2025-11-25 with the session `s1`. `call` answers all requests but the handshake and
    /// `tools/list`.
    pub(crate) fn legacy(tools: Value, call: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Self {
        Self::new(move |request| match request.method() {
            "server/discover" => Reply::text(400, "text/plain", "Bad Request: no session"),
            "initialize" => request
                .result(without_changes(initialized("2025-11-25"))["result"].clone())
                .with_header("mcp-session-id", "s1"),
            "notifications/initialized" | "notifications/cancelled" | "answer" => Reply::empty(202),
            "tools/list" => request.result(json!({ "tools": tools })),
            "DELETE" => Reply::empty(200),
            "GET" if request.header("last-event-id").is_none() => Reply::empty(405),
            _ => call(request),
        })
    }

    /// Returns a builder of a client.
    pub(crate) fn client(&self) -> McpUrl {
        McpClient::url("http://cafe.example/mcp", self.clone()).name("cafe")
    }

    pub(crate) async fn connect(&self) -> McpClient {
        self.client().connect().await.unwrap()
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Returns the methods that the server has received, without the requests for a stream.
    pub(crate) fn methods(&self) -> Vec<String> {
        self.received()
            .iter()
            .filter(|request| request.http_method != Method::GET)
            .map(|request| request.method().to_owned())
            .collect()
    }

    /// Returns the requests with this method.
    pub(crate) fn received_of(&self, method: &str) -> Vec<Received> {
        let mut received = self.received();
        received.retain(|request| request.method() == method);
        received
    }

    /// Waits until the server has received this number of messages with this method.
    pub(crate) async fn wait_for(&self, method: &str, count: usize) {
        while self.received_of(method).len() < count {
            tokio::task::yield_now().await;
        }
    }

    /// Waits until the client has closed this number of streams before their end.
    pub(crate) async fn wait_for_closed(&self, count: usize) {
        while self.dropped.load(Ordering::SeqCst) < count {
            tokio::task::yield_now().await;
        }
    }
}

/// Removes the announcement of changes from an answer to `initialize`.
pub(crate) fn without_changes(mut answer: Value) -> Value {
    answer["result"]["capabilities"]["tools"] = json!({});
    answer
}

impl Service<Request<Full<Bytes>>> for HttpPeer {
    type Response = Response<PeerBody>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        let peer = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            assert_eq!(parts.uri, "http://cafe.example/mcp");
            let body = body.collect().await.unwrap().to_bytes();
            let received = Received {
                http_method: parts.method,
                headers: parts.headers,
                message: from_slice(&body).unwrap_or_default(),
            };
            peer.received.lock().unwrap().push(received.clone());
            let reply = (peer.answer)(&received);
            let (whole, pieces) = match reply.body {
                ReplyBody::Whole(bytes) => (Some(Full::new(bytes)), None),
                ReplyBody::Pieces(pieces) => (None, Some(pieces)),
                ReplyBody::Failure(kind) => return Err(kind.into()),
                ReplyBody::Silence => std::future::pending().await,
            };
            let mut response = Response::new(PeerBody {
                whole,
                pieces,
                dropped: peer.dropped,
                is_ended: false,
            });
            *response.status_mut() = StatusCode::from_u16(reply.status).unwrap();
            *response.headers_mut() = reply.headers;
            Ok(response)
        })
    }
}

/// Returns a list with the tool `brew`.
pub(crate) fn brew() -> Value {
    json!([{ "name": "brew", "inputSchema": { "type": "object", "additionalProperties": true } }])
}

/// Returns a result with the text `coffee`.
pub(crate) fn coffee() -> Value {
    json!({ "content": [{ "type": "text", "text": "coffee" }] })
}
