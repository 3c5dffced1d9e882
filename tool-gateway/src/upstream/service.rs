//! [`Upstream`]: the trait of upstreams.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, Response};
use bytes::Bytes;
use http_body_util::{Either, Full};

use super::answer::TurnBody;
use super::anthropic::{AnthropicUpstream, events};
use super::error::UpstreamError;
use super::signed_thinking::without_signed_thinking;
use super::text_calls::reader::TextCallReader;
use super::translation_warnings::TranslationWarnings;
use crate::off_worker::in_place;

/// A server that generates messages, with the Messages API or with a translated API.
///
/// Requests have the client's headers, and the path and query of the client's URI, for example `/v1/messages?beta=true`. The upstream
/// removes hop-by-hop headers and adds its own credentials. A response with an error status is a response; an error means that the server
/// did not respond.
///
/// An upstream with the Messages API needs only [`send`](Self::send). A translated server also implements [`turn`](Self::turn), and returns
/// `false` from [`passes_messages`](Self::passes_messages):
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
/// /// Echoes its request.
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
    /// Sends a request, and returns the bytes of its response. Used for all requests except the messages of [turns](Self::turn).
    fn send(&self, request: Request<Bytes>) -> UpstreamFuture<'_>;

    /// Sends a request whose body the gateway does not read, such as an uploaded file, and returns the bytes of its response. The default
    /// reads the body first, and [sends](Self::send) the request.
    fn send_stream(&self, request: Request<Body>) -> UpstreamFuture<'_> {
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = axum::body::to_bytes(body, usize::MAX)
                .await
                .map_err(|error| UpstreamError::new(format!("the request was cut off: {error}")))?;
            self.send(Request::from_parts(parts, body)).await
        })
    }

    /// Returns whether requests are sent with credentials of the gateway, or without credentials, so that all clients share an account;
    /// `false` by default.
    fn has_credentials(&self) -> bool {
        false
    }

    /// Answers `POST /v1/messages` with the events of the Messages API. The default [sends](Self::send) the request, and reads the response
    /// as one of the Messages API.
    fn turn(&self, request: Request<Bytes>) -> UpstreamFuture<'_, TurnBody> {
        Box::pin(async move { Ok(events::turn_body(self.send(request).await?)) })
    }

    /// Returns whether a message without tools of the gateway passes from [`send`](Self::send) to the client, byte for byte; `true` by
    /// default. If `false`, each message is a [turn](Self::turn).
    fn passes_messages(&self) -> bool {
        true
    }

    /// Returns the server's name of a model that a client requests; by default, the client's name.
    fn served_model<'m>(&'m self, model: &'m str) -> Cow<'m, str> {
        Cow::Borrowed(model)
    }

    /// Returns the reader of calls that arrive as text; `None` by default. [`TextCalls`](super::TextCalls) has one.
    fn text_calls(&self) -> Option<&TextCallReader> {
        None
    }

    /// Returns the counters of parts that the translation leaves out, which are in the metrics; `None` by default.
    fn translation_warnings(&self) -> Option<TranslationWarnings> {
        None
    }

    /// Returns the name for the operator, such as `https://api.anthropic.com` or `script demo.json`. The name must not contain a
    /// credential.
    fn name(&self) -> String;
}

/// A response with this body, or the error of a missing response.
pub type UpstreamFuture<'a, B = Body> =
    Pin<Box<dyn Future<Output = Result<Response<B>, UpstreamError>> + Send + 'a>>;

/// Path of messages.
const MESSAGES_PATH: &str = "/v1/messages";

/// Path of requests for a number of tokens.
const COUNT_PATH: &str = "/v1/messages/count_tokens";

impl<U: Upstream + ?Sized> Upstream for Arc<U> {
    fn send(&self, request: Request<Bytes>) -> UpstreamFuture<'_> {
        (**self).send(request)
    }

    fn send_stream(&self, request: Request<Body>) -> UpstreamFuture<'_> {
        (**self).send_stream(request)
    }

    fn has_credentials(&self) -> bool {
        (**self).has_credentials()
    }

    fn turn(&self, request: Request<Bytes>) -> UpstreamFuture<'_, TurnBody> {
        (**self).turn(request)
    }

    fn passes_messages(&self) -> bool {
        (**self).passes_messages()
    }

    fn served_model<'m>(&'m self, model: &'m str) -> Cow<'m, str> {
        (**self).served_model(model)
    }

    fn text_calls(&self) -> Option<&TextCallReader> {
        (**self).text_calls()
    }

    fn translation_warnings(&self) -> Option<TranslationWarnings> {
        (**self).translation_warnings()
    }

    fn name(&self) -> String {
        (**self).name()
    }
}

impl Upstream for AnthropicUpstream {
    fn send(&self, request: Request<Bytes>) -> UpstreamFuture<'_> {
        let request = match request.uri().path() {
            MESSAGES_PATH | COUNT_PATH => request.map(|body| {
                let without = in_place(body.len(), || without_signed_thinking(&body));
                without.map_or(body, Bytes::from)
            }),
            _ => request,
        };
        Box::pin(
            self.server
                .send(request.map(|body| Either::Left(Full::new(body)))),
        )
    }

    fn send_stream(&self, request: Request<Body>) -> UpstreamFuture<'_> {
        Box::pin(self.server.send(request.map(Either::Right)))
    }

    fn has_credentials(&self) -> bool {
        self.server.has_api_key()
    }

    fn name(&self) -> String {
        self.server.to_string()
    }
}
