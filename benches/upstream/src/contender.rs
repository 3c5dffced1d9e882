//! A client with its connections and requests.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri};
use http_body_util::BodyExt as _;
use tokio::task::JoinSet;

use crate::clients::{self, Client};
use crate::server::Answer;

/// Any client.
pub trait Contender {
    fn name(&self) -> &'static str;

    /// Reads a response with its whole body.
    fn response(&self, answer: Answer) -> BoxFuture<'static, Response<Bytes>>;

    /// Sends this many requests from each of this many tasks, and reads the responses as they arrive.
    fn load(&self, answer: Answer, tasks: usize, requests: usize) -> BoxFuture<'static, ()>;
}

/// Returns all contenders, with the floor first.
pub fn all(server: SocketAddr) -> [Box<dyn Contender>; 3] {
    [
        with("floor: hyper-util's client", server, clients::bare()),
        with("`AnthropicUpstream`", server, clients::gateway(server)),
        with("reqwest 0.13.5", server, clients::reqwest()),
    ]
}

fn with(name: &'static str, server: SocketAddr, client: impl Client) -> Box<dyn Contender> {
    let client = Arc::new(client);
    Box::new(With { name, server, client })
}

struct With<C> {
    name: &'static str,
    server: SocketAddr,
    client: Arc<C>,
}

impl<C: Client> Contender for With<C> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn response(&self, answer: Answer) -> BoxFuture<'static, Response<Bytes>> {
        let (client, request) = (self.client.clone(), request(self.server, answer));
        Box::pin(async move {
            let (parts, body) = client.send(request).await.into_parts();
            let body = body.collect().await.expect("a whole body").to_bytes();
            Response::from_parts(parts, body)
        })
    }

    fn load(&self, answer: Answer, tasks: usize, requests: usize) -> BoxFuture<'static, ()> {
        let (client, request) = (self.client.clone(), request(self.server, answer));
        let expected = answer.body().map(|body| body.len());
        Box::pin(async move {
            let mut running = JoinSet::new();
            for _ in 0..tasks {
                let (client, request) = (client.clone(), request.clone());
                running.spawn(async move {
                    for _ in 0..requests {
                        let length = drain(client.send(request.clone()).await.into_body()).await;
                        assert!(expected.is_none_or(|expected| length == expected));
                    }
                });
            }
            while let Some(ended) = running.join_next().await {
                ended.expect("a task without panic");
            }
        })
    }
}

/// Reads a body without keeping it. Returns its length.
async fn drain<B: http_body::Body<Data = Bytes, Error: std::fmt::Debug> + Unpin>(mut body: B) -> usize {
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        length += frame.expect("a whole body").data_ref().map_or(0, Bytes::len);
    }
    length
}

/// Builds a request of an SDK to the gateway, without headers that reqwest and the gateway add.
fn request(server: SocketAddr, answer: Answer) -> Request<Bytes> {
    let mut request = Request::new(BODY.into());
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::try_from(format!("http://{server}{}", answer.path())).expect("a valid URL");
    *request.headers_mut() = headers();
    request
}

fn headers() -> HeaderMap {
    const FIELDS: [(HeaderName, &str); 13] = [
        (ACCEPT, "application/json"),
        (ACCEPT_ENCODING, "identity"),
        (CONTENT_TYPE, "application/json"),
        (USER_AGENT, "Anthropic/Python 0.97.0"),
        (HeaderName::from_static("x-api-key"), "sk-ant-secret"),
        (HeaderName::from_static("anthropic-version"), "2023-06-01"),
        (HeaderName::from_static("x-stainless-lang"), "python"),
        (HeaderName::from_static("x-stainless-package-version"), "0.97.0"),
        (HeaderName::from_static("x-stainless-os"), "Linux"),
        (HeaderName::from_static("x-stainless-arch"), "x64"),
        (HeaderName::from_static("x-stainless-runtime"), "CPython"),
        (HeaderName::from_static("x-stainless-retry-count"), "0"),
        (HeaderName::from_static("x-stainless-timeout"), "600"),
    ];
    FIELDS
        .into_iter()
        .map(|(name, value)| (name, HeaderValue::from_static(value)))
        .collect()
}

const BODY: &str = r#"{"model":"claude","max_tokens":1024,"system":"You answer briefly.","messages":[{"role":"user","content":"Hello, world"}],"tools":[{"name":"search_files","description":"Finds the files whose text matches a pattern.","input_schema":{"type":"object","properties":{"pattern":{"type":"string","description":"A regular expression."}},"required":["pattern"]}}]}"#;

/// Returns the request that the server must receive, in the form of [`Answer::Echo`].
pub fn expected_echo(server: SocketAddr) -> String {
    let mut headers = headers();
    let host = server.to_string().parse().expect("a valid header");
    headers.insert(HOST, host);
    headers.insert(http::header::CONTENT_LENGTH, BODY.len().into());
    format!(
        "POST {}\n{}{BODY}",
        Answer::Echo.path(),
        crate::server::headers(&headers)
    )
}
