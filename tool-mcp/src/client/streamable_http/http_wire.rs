//! [`HttpWire`]: requests to the URL of a server, with their headers.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response};
use http_body_util::Full;
use rmcp::service::{RoleClient, RxJsonRpcMessage};
use tokio::sync::mpsc;

use super::failure::HttpFailure;
use super::session::{PROTOCOL_VERSION, Session};
use crate::adapt::parameter_headers::encode;
use crate::adapt::revisions::MODERN;
use crate::client::http_service::HttpBody;
use crate::client::outgoing::{OutgoingRequest, Tracker};
use crate::client::url_settings::UrlSettings;
use crate::client::wire::Wire;

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

pub(super) const EVENT_STREAM: &str = "text/event-stream";
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const ANY_ANSWER: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// Messages to and from the URL of a server.
pub(crate) struct HttpWire {
    pub(super) wire: Arc<Wire>,
    pub(super) url: Arc<UrlSettings>,
    /// Answers for `rmcp`.
    pub(super) incoming: mpsc::Sender<RxJsonRpcMessage<RoleClient>>,
    pub(super) session: Session,
    /// Held by the request that begins another session.
    pub(super) renewal: tokio::sync::Mutex<()>,
    /// Maximum number of bytes of a message.
    pub(super) message_bytes: usize,
}

impl HttpWire {
    /// Returns the headers of a request of the protocol.
    pub(super) fn request_headers(&self, request: &OutgoingRequest, tracker: Option<&Tracker>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(tracker) = tracker {
            headers.clone_from(&tracker.headers);
        }
        if request.method == "initialize" {
            return headers;
        }
        if self.wire.has_initialized() {
            self.session.insert(&mut headers);
            return headers;
        }
        headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(MODERN));
        headers.insert(METHOD, encode(&request.method));
        if let Some(tool) = &request.tool {
            headers.insert(NAME, encode(tool));
        }
        headers
    }

    /// Returns the headers of other requests in a session.
    pub(super) fn session_headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        self.session.insert(&mut headers);
        headers
    }

    /// Posts a message, and waits for the head of the response.
    pub(super) async fn post(
        &self,
        line: Bytes,
        headers: HeaderMap,
    ) -> Result<Response<HttpBody>, HttpFailure> {
        let mut headers = headers;
        headers.insert(CONTENT_TYPE, JSON);
        headers.insert(ACCEPT, ANY_ANSWER);
        self.send(Method::POST, headers, line).await
    }

    /// Requests a stream of events.
    pub(super) async fn get(&self, mut headers: HeaderMap) -> Result<Response<HttpBody>, HttpFailure> {
        headers.insert(ACCEPT, HeaderValue::from_static(EVENT_STREAM));
        self.send(Method::GET, headers, Bytes::new()).await
    }

    /// Sends a request, whose headers replace the configured ones.
    pub(super) async fn send(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<HttpBody>, HttpFailure> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = self.url.uri.clone();
        // Without this header, a server may compress its answers (RFC 9110 § 12.5.3).
        let is_uncompressed = HeaderValue::from_static("identity");
        request.headers_mut().insert(ACCEPT_ENCODING, is_uncompressed);
        request.headers_mut().extend(self.url.headers.clone());
        // Of several headers with one name, `extend` keeps all of `headers`, and none of the others.
        request.headers_mut().extend(headers);
        Ok(self.url.service.send(request).await?)
    }
}
