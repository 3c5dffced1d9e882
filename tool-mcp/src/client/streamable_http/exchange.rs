//! Requests of the protocol: the answer of each comes in its response, or in a stream that continues this response.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::BodyExt as _;
use rmcp::model::{ErrorCode, ErrorData};
use rmcp::service::{RoleClient, RxJsonRpcMessage};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::body::{media_type, read, read_error, status_failure, unread_encoding};
use super::event_stream::{EventStream, begins_with_endpoint};
use super::failure::HttpFailure;
use super::http_wire::{EVENT_STREAM, HttpWire, LAST_EVENT_ID};
use crate::adapt::json::parse;
use crate::client::http_service::HttpBody;
use crate::client::outgoing::{Outgoing, OutgoingRequest, Tracker};

/// Maximum number of requests in a row that continue a stream without a message.
const RESUMPTIONS: usize = 3;
/// Maximum time in which the rest of a response is read, so that its connection can be used again.
const REST: Duration = Duration::from_secs(1);
/// Maximum time for the first event of the transport of 2024-11-05.
const ENDPOINT: Duration = Duration::from_secs(5);
/// Maximum time in which a session begins in place of a lost session.
const RENEWAL: Duration = Duration::from_secs(30);
const METHOD_NOT_FOUND: i32 = -32601;

/// Answer to a request, and the rest of its response.
struct Answered {
    messages: Vec<RxJsonRpcMessage<RoleClient>>,
    rest: Option<HttpBody>,
}

impl HttpWire {
    /// Sends a request, and delivers its answer or an error.
    pub(super) async fn request(self: Arc<Self>, outgoing: Outgoing, request: OutgoingRequest) {
        let line = Bytes::from(outgoing.line);
        let tracker = outgoing.tracker.as_ref();
        let answered = tokio::select! {
            // An answer cancels `ended`, too.
            biased;
            answered = self.answer(&request, line, tracker) => answered,
            // The dropped response closes the stream.
            () = request.ended.cancelled() => return,
            () = self.wire.end.cancelled() => return,
        };
        let answered = match answered {
            Ok(answered) => answered,
            Err(failure) => Answered {
                messages: self.fail(&request, tracker, failure).await,
                rest: None,
            },
        };
        for message in answered.messages {
            // At the end of the connection no caller waits.
            let _ = self.incoming.send(message).await;
        }
        if let Some(mut rest) = answered.rest {
            let read = async { while let Some(Ok(_)) = rest.frame().await {} };
            let _ = timeout(REST, read).await;
        }
    }

    async fn answer(
        self: &Arc<Self>,
        request: &OutgoingRequest,
        line: Bytes,
        tracker: Option<&Tracker>,
    ) -> Result<Answered, HttpFailure> {
        if let Some(tracker) = tracker {
            tracker.is_sent.store(true, Ordering::Relaxed);
        }
        if request.method == "initialize" {
            self.session.set_initialize(line.clone());
        }
        let generation = self.session.generation();
        let response = self
            .post(line.clone(), self.request_headers(request, tracker))
            .await?;
        if response.status() != StatusCode::NOT_FOUND || !self.session.has_id() {
            return self.read(request, response).await;
        }
        // The server has forgotten the session, and has not run the request.
        Arc::clone(self).renew(generation).await?;
        let response = self.post(line, self.request_headers(request, tracker)).await?;
        self.read(request, response).await
    }

    /// Begins another session, unless another request has begun one since `generation`. The session belongs to all requests, so its
    /// beginning does not end with the request that needs it first.
    async fn renew(self: Arc<Self>, generation: u64) -> Result<(), HttpFailure> {
        let renewal = tokio::spawn(async move {
            let _renewal = self.renewal.lock().await;
            if self.session.generation() != generation {
                return Ok(());
            }
            tokio::select! {
                begun = timeout(RENEWAL, self.begin_session()) => begun.unwrap_or_else(|_| {
                    let limit = RENEWAL.as_secs();
                    let reason = format!("`initialize` in place of a lost session has no answer for {limit} s");
                    Err(HttpFailure::Unreachable(reason))
                }),
                () = self.wire.end.cancelled() => Err(HttpFailure::Unreachable(self.wire.end_reason())),
            }
        });
        match renewal.await {
            Ok(renewed) => renewed.map_err(HttpFailure::of_renewal),
            // The task ends only with the runtime.
            Err(error) => Err(HttpFailure::Unreachable(error.to_string())),
        }
    }

    async fn begin_session(&self) -> Result<(), HttpFailure> {
        let response = self
            .post(self.session.initialize(), http::HeaderMap::new())
            .await?;
        let headers = response.headers().clone();
        let status = response.status();
        let is_stream = media_type(&headers) == EVENT_STREAM;
        let answer = if is_stream {
            let mut stream = EventStream::new(response.into_body(), self.message_bytes);
            loop {
                match stream.next().await? {
                    Some(message) if message.get("result").is_some() => break message,
                    Some(_) => {}
                    None => return Err(HttpFailure::Interrupted("the stream ended".to_owned())),
                }
            }
        } else {
            let body = read(response.into_body(), self.message_bytes).await?;
            if !status.is_success() {
                return Err(status_failure(status, &headers, &body));
            }
            let message = parse(body).await;
            message.map_err(|_| HttpFailure::Invalid("invalid JSON".to_owned()))?
        };
        if answer.get("result").is_none() {
            let reason = "`initialize` was refused in place of a lost session";
            return Err(HttpFailure::Unreachable(reason.to_owned()));
        }
        self.session.begin(&headers, &answer);
        self.notify_initialized().await?;
        // A server without the session may be another process, with other tools.
        self.wire.list_changed.notify_one();
        Ok(())
    }

    /// Sends `notifications/initialized` in another session.
    async fn notify_initialized(&self) -> Result<(), HttpFailure> {
        let line = Bytes::from_static(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        self.post(line, self.session_headers()).await.map(drop)
    }

    /// Reads the answer to a request from its response.
    async fn read(
        &self,
        request: &OutgoingRequest,
        response: Response<HttpBody>,
    ) -> Result<Answered, HttpFailure> {
        let (parts, body) = response.into_parts();
        if let Some(encoding) = unread_encoding(&parts.headers) {
            let status = parts.status.as_u16();
            return Err(HttpFailure::Invalid(format!(
                "status {status} with `content-encoding: {encoding}`; expected none"
            )));
        }
        let mut messages = Vec::new();
        if !parts.status.is_success() {
            let body = read_error(body, self.message_bytes).await;
            return match parse(body.clone()).await {
                Ok(Value::Object(mut message))
                    if message.get("error").is_some_and(Value::is_object)
                        && parts.status != StatusCode::UNAUTHORIZED =>
                {
                    // Servers often have no id in errors of this kind, or one of their own.
                    message.insert("id".to_owned(), request.id.into());
                    self.wire.receive(Value::Object(message), &mut messages);
                    Ok(Answered { messages, rest: None })
                }
                _ => Err(status_failure(parts.status, &parts.headers, &body)),
            };
        }
        let media_type = media_type(&parts.headers);
        if media_type == EVENT_STREAM {
            let stream = EventStream::new(body, self.message_bytes);
            return self.read_stream(request, &parts.headers, stream).await;
        }
        let body = read(body, self.message_bytes).await?;
        let is_empty = body.trim_ascii().is_empty();
        let message = parse(body).await.map_err(|_| {
            HttpFailure::Invalid(if is_empty {
                format!("status {} without a message", parts.status.as_u16())
            } else if media_type.ends_with("json") {
                "invalid JSON".to_owned()
            } else {
                format!("expected JSON or a stream of events, got `{media_type}`")
            })
        })?;
        if !self.receive(request, &parts.headers, message, &mut messages) {
            return Err(HttpFailure::Invalid("the message has another id".to_owned()));
        }
        Ok(Answered { messages, rest: None })
    }

    /// Reads the answer to a request from a stream. A server with `initialize` may close the stream early, and continue with another.
    async fn read_stream(
        &self,
        request: &OutgoingRequest,
        headers: &http::HeaderMap,
        mut stream: EventStream,
    ) -> Result<Answered, HttpFailure> {
        let mut messages = Vec::new();
        let mut resumptions = 0;
        loop {
            let reason = match stream.next().await {
                Ok(Some(message)) => {
                    resumptions = 0;
                    if self.receive(request, headers, message, &mut messages) {
                        let rest = Some(stream.into_body());
                        return Ok(Answered { messages, rest });
                    }
                    continue;
                }
                Ok(None) => "the stream ended".to_owned(),
                Err(HttpFailure::Interrupted(reason)) => reason,
                Err(failure) => return Err(failure),
            };
            let is_legacy = self.wire.has_initialized() || request.method == "initialize";
            if !is_legacy || !self.resume(&mut stream, &mut resumptions).await {
                return Err(HttpFailure::Interrupted(reason));
            }
        }
    }

    /// Continues a stream that ended early. Returns whether the server has continued.
    pub(super) async fn resume(&self, stream: &mut EventStream, resumptions: &mut usize) -> bool {
        let Some(last_id) = stream.last_id.clone() else {
            return false;
        };
        while *resumptions < RESUMPTIONS {
            *resumptions += 1;
            sleep(stream.retry).await;
            let mut headers = self.session_headers();
            headers.insert(LAST_EVENT_ID, last_id.clone());
            let Ok(response) = self.get(headers).await else {
                continue;
            };
            let is_stream = media_type(response.headers()) == EVENT_STREAM;
            if response.status() == StatusCode::OK && is_stream {
                stream.resume(response.into_body());
                return true;
            }
            if response.status().is_client_error() {
                return false;
            }
        }
        false
    }

    /// Handles a message. Returns whether the message answers the request.
    fn receive(
        &self,
        request: &OutgoingRequest,
        headers: &http::HeaderMap,
        message: Value,
        messages: &mut Vec<RxJsonRpcMessage<RoleClient>>,
    ) -> bool {
        if request.method == "initialize" && message.get("id").and_then(Value::as_i64) == Some(request.id) {
            self.session.begin(headers, &message);
        }
        self.wire.receive(message, messages);
        !self.wire.is_pending(request.id)
    }

    /// Ends a request without an answer. Returns the error in place of the answer, if the connection continues.
    async fn fail(
        &self,
        request: &OutgoingRequest,
        tracker: Option<&Tracker>,
        failure: HttpFailure,
    ) -> Vec<RxJsonRpcMessage<RoleClient>> {
        // Credentials of a call are no credentials of this client.
        let has_credentials = tracker.is_some_and(|tracker| tracker.has_credentials);
        let is_unauthorized = failure.is_unauthorized() && !has_credentials;
        let is_first = matches!(request.method.as_str(), "initialize" | "server/discover");
        if is_unauthorized && let Some(tracker) = tracker {
            // The server has not run the call.
            tracker.is_sent.store(false, Ordering::Relaxed);
        }
        let error = if request.method == "server/discover" && failure.may_be_legacy() {
            ErrorData::new(ErrorCode(METHOD_NOT_FOUND), failure.fact(&request.method), None)
        } else if is_first || is_unauthorized {
            let fact = if request.method == "initialize"
                && failure.may_be_sse()
                && self.is_sse_of_2024().await
            {
                "has the transport HTTP+SSE of 2024-11-05, which is not supported; expected Streamable HTTP"
                    .to_owned()
            } else {
                failure.fact(&request.method)
            };
            if is_unauthorized {
                self.wire.close_unauthorized(fact);
            } else {
                self.wire.close(fact);
            }
            return Vec::new();
        } else {
            failure.into_error()
        };
        self.wire.fail(&request.id.into(), error).into_iter().collect()
    }

    /// Returns whether the URL is one of the transport of 2024-11-05, in which a GET names the URL for messages.
    async fn is_sse_of_2024(&self) -> bool {
        let probe = async {
            let Ok(response) = self.get(http::HeaderMap::new()).await else {
                return false;
            };
            response.status().is_success()
                && media_type(response.headers()) == EVENT_STREAM
                && begins_with_endpoint(response.into_body(), self.message_bytes).await
        };
        timeout(ENDPOINT, probe).await.unwrap_or(false)
    }
}
