//! [`Upstream`]: the trait of upstreams.

use std::future::Future;
use std::pin::Pin;

use axum::body::Body;
use axum::http::{Request, Response};
use bytes::Bytes;

use super::answer::TurnBody;
use super::anthropic::{AnthropicUpstream, events};
use super::error::UpstreamError;

/// A server that the gateway asks: one of the Messages API, or one whose API is translated to it.
///
/// Requests have the client's headers and, of their URI, path and query, for example `/v1/messages?beta=true`; the upstream removes
/// the headers that are for one connection only and adds its own credentials. An error status is a response. An error means that
/// there was none.
///
/// A server of the Messages API needs [`send`](Self::send) alone. A translated server also has its own [`turn`](Self::turn), and no
/// messages that [pass](Self::passes_messages):
///
/// ```
/// use axum::body::Body;
/// use axum::http::{Request, Response};
/// use bytes::Bytes;
/// use futures_util::stream;
/// use tool_gateway::Gateway;
/// use tool_gateway::upstream::{MessageEvent, MessageEvents, TurnBody, Upstream, UpstreamFuture};
/// use tool_runtime::ToolRegistry;
///
/// /// Repeats what it is asked.
/// struct Echo;
///
/// impl Upstream for Echo {
///     fn turn(&self, request: Request<Bytes>) -> UpstreamFuture<'_, TurnBody> {
///         let request = String::from_utf8_lossy(request.body()).into_owned();
///         let delta = serde_json::json!({
///             "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": request },
///         });
///         let events = [
///             r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"usage":{}}}"#,
///             r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
///             &delta.to_string(),
///             r#"{"type":"content_block_stop","index":0}"#,
///             r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}"#,
///             r#"{"type":"message_stop"}"#,
///         ]
///         .map(MessageEvent::parse);
///         let body = TurnBody::Message(MessageEvents::new(stream::iter(events)));
///         Box::pin(async { Ok(Response::new(body)) })
///     }
///
///     fn passes_messages(&self) -> bool {
///         false
///     }
///
///     fn send(&self, _: Request<Bytes>) -> UpstreamFuture<'_> {
///         let response = Response::builder().status(404).body(Body::empty());
///         Box::pin(async { Ok(response.expect("a valid response")) })
///     }
///
///     fn name(&self) -> String {
///         "echo".to_owned()
///     }
/// }
///
/// let app: axum::Router = Gateway::new(ToolRegistry::new(), Echo).router();
/// ```
pub trait Upstream: Send + Sync + 'static {
    /// Sends a request, and returns the bytes of its response: of all requests but those for the messages of
    /// [turns](Self::turn).
    fn send(&self, request: Request<Bytes>) -> UpstreamFuture<'_>;

    /// Answers a request for a message, `POST /v1/messages` of the Messages API, with the events of that API. By default it is
    /// [sent](Self::send), and the response is read as one of the Messages API.
    fn turn(&self, request: Request<Bytes>) -> UpstreamFuture<'_, TurnBody> {
        Box::pin(async move { Ok(events::turn_body(self.send(request).await?)) })
    }

    /// Whether a message in which the gateway has no part passes from [`send`](Self::send) to the client, byte for byte: `true` by
    /// default. Otherwise each message is a [turn](Self::turn).
    fn passes_messages(&self) -> bool {
        true
    }

    /// The name for the operator: `https://api.anthropic.com`, `script demo.json`. Never a credential.
    fn name(&self) -> String;
}

/// The response with this body, or the reason why there is none.
pub type UpstreamFuture<'a, B = Body> =
    Pin<Box<dyn Future<Output = Result<Response<B>, UpstreamError>> + Send + 'a>>;

impl Upstream for AnthropicUpstream {
    fn send(&self, request: Request<Bytes>) -> UpstreamFuture<'_> {
        Box::pin(self.server.send(request))
    }

    fn name(&self) -> String {
        self.server.to_string()
    }
}
