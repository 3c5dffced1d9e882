//! Response to a request.

use std::error::Error;
use std::sync::Arc;

use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Method, Response, StatusCode};
use http_body::Body;
use serde_json::Value;

use crate::adapt::json::parse;
use crate::server::dispatch::{Caller, Reply, Subscription};
use crate::server::http::body::McpBody;
use crate::server::http::headers::{self, Accepted};
use crate::server::http::principal::McpPrincipal;
use crate::server::http::request_body::{TIME, UnreadBody, read};
use crate::server::http::rules::HttpRules;
use crate::server::mcp_server::McpServer;
use crate::server::message::{Incoming, RejectedMessage, Request, RpcError, answer};

const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

impl McpServer {
    /// Returns the response to a request.
    pub(crate) async fn respond<B>(&self, request: http::Request<B>, rules: &HttpRules) -> Response<McpBody>
    where
        B: Body<Error: Into<Box<dyn Error + Send + Sync>>>,
    {
        let (parts, body) = request.into_parts();
        if let Err(reason) = rules.check(&parts) {
            return refusal(StatusCode::FORBIDDEN, reason);
        }
        if parts.method != Method::POST {
            let mut response = refusal(StatusCode::METHOD_NOT_ALLOWED, "expected POST");
            response
                .headers_mut()
                .insert(ALLOW, HeaderValue::from_static("POST"));
            return response;
        }
        if self.shared.closing.is_cancelled() {
            return refusal(StatusCode::SERVICE_UNAVAILABLE, "the server is being stopped");
        }
        if !headers::has_json(&parts.headers) {
            let reason = "expected `application/json` as `Content-Type`";
            return refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, reason);
        }
        let accepted = Accepted::from_headers(&parts.headers);
        if !(accepted.json || accepted.events) {
            let reason = "expected `application/json, text/event-stream` as `Accept`";
            return refusal(StatusCode::NOT_ACCEPTABLE, reason);
        }
        if let Some(reason) = headers::unread_encoding(&parts.headers) {
            return refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, reason);
        }
        let mut reserved = self.shared.bodies.begin(rules.body_bytes);
        let body = match read(body, rules.body_bytes, &mut reserved).await {
            Ok(body) => body,
            Err(UnreadBody::TooLarge) => {
                let reason = format!("expected a body of at most {} bytes", rules.body_bytes);
                return refusal(StatusCode::PAYLOAD_TOO_LARGE, reason);
            }
            Err(UnreadBody::OverBudget) => {
                let reason = "the bodies of all requests are too large together; send this one later";
                let mut response = refusal(StatusCode::SERVICE_UNAVAILABLE, reason);
                response
                    .headers_mut()
                    .insert(RETRY_AFTER, HeaderValue::from_static("1"));
                return response;
            }
            Err(UnreadBody::TimedOut) => {
                let reason = format!("the body took longer than {} s", TIME.as_secs());
                return refusal(StatusCode::REQUEST_TIMEOUT, reason);
            }
            Err(UnreadBody::Failed(reason)) => return refusal(StatusCode::BAD_REQUEST, reason),
        };
        let message = match parse(body).await {
            Ok(message) => message,
            Err(error) => {
                let error = RpcError::new(RpcError::PARSE_ERROR, format!("invalid JSON: {error}"));
                return json(StatusCode::BAD_REQUEST, &error.into_answer(Value::Null));
            }
        };
        let request = match Incoming::from_value(message) {
            Ok(Incoming::Request(request)) => request,
            Ok(Incoming::Notification(_) | Incoming::Response) => return accepted_response(),
            Err(rejected) => {
                let RejectedMessage { id, error } = *rejected;
                return json(StatusCode::BAD_REQUEST, &error.into_answer(id));
            }
        };
        let principal = parts.extensions.get::<McpPrincipal>();
        let principal = principal.map_or_else(|| McpPrincipal::new(""), McpPrincipal::clone);
        let caller = Caller {
            admission: self.admission(&principal.name),
            principal: principal.name,
            context: principal.context,
            is_notified: false,
            body: Some(Arc::new(reserved)),
        };
        if headers::is_modern(&request, &parts.headers) {
            let checked = headers::check(&request, &parts.headers).and_then(|()| request.check_meta());
            if let Err(error) = checked {
                return json(StatusCode::BAD_REQUEST, &error.into_answer(request.id));
            }
            let reply = self.modern_reply(&request, &caller);
            self.response(request, reply, &caller, accepted, true).await
        } else {
            let reply = self.legacy_reply(&request, &caller);
            self.response(request, reply, &caller, accepted, false).await
        }
    }

    async fn response(
        &self,
        request: Request,
        reply: Result<Reply, RpcError>,
        caller: &Caller,
        accepted: Accepted,
        is_modern: bool,
    ) -> Response<McpBody> {
        let id = request.id;
        match reply {
            Ok(Reply::Result(result)) => json(StatusCode::OK, &answer(id, result)),
            Ok(Reply::Call(call)) if accepted.events && (call.progress_token.is_some() || !accepted.json) => {
                events(self.stream_call(id, *call))
            }
            Ok(Reply::Call(call)) => match self.run_call(*call).await {
                Some(result) => json(StatusCode::OK, &answer(id, result)),
                None => refusal(StatusCode::SERVICE_UNAVAILABLE, "the call was cancelled"),
            },
            Ok(Reply::Listen { .. }) if !accepted.events => refusal(
                StatusCode::NOT_ACCEPTABLE,
                "expected `text/event-stream` in `Accept`",
            ),
            Ok(Reply::Listen { to_tools }) => {
                let Some(permit) = caller.admission.subscribe() else {
                    let error = RpcError::too_many_subscriptions();
                    return json(StatusCode::TOO_MANY_REQUESTS, &error.into_answer(id));
                };
                events(self.stream_subscription(Subscription { id, to_tools }, permit))
            }
            Err(error) => {
                // Clients with a handshake read an error of HTTP as the end of a session.
                let is_unknown = is_modern && error.code == RpcError::METHOD_NOT_FOUND;
                let status = if is_unknown {
                    StatusCode::NOT_FOUND
                } else {
                    StatusCode::OK
                };
                json(status, &error.into_answer(id))
            }
        }
    }
}

fn json(status: StatusCode, message: &Value) -> Response<McpBody> {
    let mut response = Response::new(McpBody::json(message));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Returns the response to a notification.
fn accepted_response() -> Response<McpBody> {
    let mut response = Response::new(McpBody::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

fn events(body: McpBody) -> Response<McpBody> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(BUFFERING, HeaderValue::from_static("no"));
    response
}

/// Returns an error without the id of a request, which was not read.
fn refusal(status: StatusCode, reason: impl Into<String>) -> Response<McpBody> {
    let error = RpcError::new(RpcError::INVALID_REQUEST, reason);
    json(status, &error.into_answer(Value::Null))
}
