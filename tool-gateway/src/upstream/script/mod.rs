//! The upstream `script`: turns from a JSON file, for demonstrations, tests and benchmarks.
//!
//! A script contains the turns of a conversation. The upstream answers `POST /v1/messages`, `POST /v1/chat/completions`,
//! `POST /v1/messages/count_tokens` and `GET /v1/models`. The response of `/v1/chat/completions` has the form of `OpenAI`'s API. A message
//! is streamed if the request contains `"stream": true`. Errors always have the form of the Messages API.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use axum::http::Request;
//! use tool_gateway::upstream::{ScriptUpstream, Upstream as _};
//!
//! let script = ScriptUpstream::from_json(
//!     r#"{
//!         "turns": [
//!             {"content": [
//!                 {"type": "text", "text": "I'll look."},
//!                 {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris"}}
//!             ]},
//!             {"content": [{"type": "text", "text": "It rains."}], "event_delay_ms": 20},
//!             {"error": {"status": 529, "headers": {"retry-after": "1"}}}
//!         ]
//!     }"#,
//! )?;
//!
//! let body = r#"{"model": "m", "messages": [{"role": "user", "content": "Do I need an umbrella in Paris?"}]}"#;
//! let response = script.send(Request::post("/v1/messages").body(body.into())?).await?;
//! let message = axum::body::to_bytes(response.into_body(), usize::MAX).await?;
//! let message: serde_json::Value = serde_json::from_slice(&message)?;
//! assert_eq!(message["stop_reason"], "tool_use");
//! assert_eq!(message["content"][1]["input"]["city"], "Paris");
//! # Ok(())
//! # }
//! ```
//!
//! # The file
//!
//! | field | |
//! |---|---|
//! | `turns` | the turns, at least one |
//! | `order` | `"messages"` (the default): the index of a request's turn is the number of assistant messages in the request. After the last turn, the first turn follows. Retries, branches and concurrent clients receive the right turns. `"requests"`: each request receives the next turn. After the last turn, requests are answered with status 400 |
//!
//! A turn has `content`, which makes it a message, or `error`. With both, the message is streamed without its last two events, followed by
//! an event `error`; a request without `stream` receives the error response.
//!
//! | field of a message | |
//! |---|---|
//! | `content` | blocks of the message (in Chat Completions, only the texts and the calls). Values are sent unchanged, except for line breaks and indentation. A call without `id` receives a new id in each response |
//! | `stop_reason` | by default `tool_use` if there is a block `tool_use`, else `end_turn` |
//! | `usage` | by default computed from the sizes in bytes |
//! | `id` | by default a new id in each response |
//! | `model` | by default the model of the request |
//! | `deltas` | number of characters in a delta of text, thinking or arguments; by default 16 |
//! | `ping` | `true`: an event `ping` follows `message_start` |
//!
//! | field of an `error` | |
//! |---|---|
//! | `status` | from 400 to 599 |
//! | `body` | a string is sent as text, any other value as JSON; by default an error in the form of the API |
//! | `headers` | names and values |
//!
//! | field of any turn | |
//! |---|---|
//! | `headers` | names and values, which replace the default headers |
//! | `delay_ms` | delay before the response |
//! | `event_delay_ms` | delay between the events of a stream |
//!
//! Unknown fields are errors. A script cannot check requests, send invalid arguments or cut off a stream. Tests of such cases implement
//! [`Upstream`].

// A module uses only modules that are declared before it.
mod raw_object;
mod api_error;
mod block;
mod turn;
mod template;
mod rendered;
mod chat;
mod playback;

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header, request,
};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::service::{Upstream, UpstreamFuture};
use chat::Completion;
use playback::Playback;
use rendered::Rendered;
use turn::{ErrorResponse, Order, Script, ScriptTurn};

const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");

/// An upstream that plays a [script](self). Clones share their turns and their position.
#[derive(Clone)]
pub struct ScriptUpstream {
    shared: Arc<ScriptState>,
}

struct ScriptState {
    name: String,
    order: Order,
    turns: Vec<Prepared>,
    /// Number of received requests, on all routes. Generated ids contain it.
    requests: AtomicU64,
    /// Number of turns that were played in the order of requests.
    played: AtomicUsize,
}

/// A turn with its serialized message.
struct Prepared {
    turn: ScriptTurn,
    message: Option<Rendered>,
}

impl ScriptUpstream {
    /// Creates a script with a short conversation about the weather: a message that calls `TodoWrite` and the client's `get_weather`, then
    /// a call of `TodoRead`, then a text.
    ///
    /// ```
    /// use tool_gateway::upstream::{ScriptUpstream, Upstream as _};
    ///
    /// assert_eq!(ScriptUpstream::embedded().name(), "script (embedded)");
    /// ```
    pub fn embedded() -> Self {
        let script = serde_json::from_str(include_str!("embedded.json"));
        // The script is valid, since a test plays it; a script without turns would answer with status 400.
        let script = script.unwrap_or(Script {
            turns: Vec::new(),
            order: Order::Messages,
        });
        Self::new("script (embedded)".to_owned(), script)
    }

    /// Reads a script from a file. Errors contain the file, the line and the column.
    ///
    /// ```
    /// use tool_gateway::upstream::ScriptUpstream;
    ///
    /// let error = ScriptUpstream::from_file("missing.json").unwrap_err();
    /// assert!(error.to_string().starts_with("the script missing.json cannot be read: "));
    /// ```
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ScriptError> {
        let shown = path.as_ref().display().to_string();
        let text = std::fs::read_to_string(&path)
            .map_err(|error| ScriptError(format!("the script {shown} cannot be read: {error}")))?;
        Self::parse(&text, &shown, format!("script {shown}"))
    }

    /// Parses a script.
    ///
    /// ```
    /// use tool_gateway::upstream::ScriptUpstream;
    ///
    /// let error = ScriptUpstream::from_json(r#"{"turns": [{"contents": []}]}"#).unwrap_err();
    /// assert!(error.to_string().starts_with("script:1:22: unknown field `contents`, expected one of `content`, "));
    /// ```
    pub fn from_json(text: &str) -> Result<Self, ScriptError> {
        Self::parse(text, "script", "script".to_owned())
    }

    fn parse(text: &str, place: &str, name: String) -> Result<Self, ScriptError> {
        let script: Script = serde_json::from_str(text).map_err(|error| ScriptError::new(place, &error))?;
        if script.turns.is_empty() {
            let message = format!("{place}: `turns` is empty; expected at least one, {TURN}");
            return Err(ScriptError(message));
        }
        Ok(Self::new(name, script))
    }

    fn new(name: String, script: Script) -> Self {
        let prepared = |mut turn: ScriptTurn| Prepared {
            message: turn.message.take().map(Rendered::new),
            turn,
        };
        Self {
            shared: Arc::new(ScriptState {
                name,
                order: script.order,
                turns: script.turns.into_iter().map(prepared).collect(),
                requests: AtomicU64::new(0),
                played: AtomicUsize::new(0),
            }),
        }
    }
}

impl Upstream for ScriptUpstream {
    fn send(&self, request: Request<Bytes>) -> UpstreamFuture<'_> {
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let reply = self.shared.reply(&parts, &body);
            if !reply.delay.is_zero() {
                tokio::time::sleep(reply.delay).await;
            }
            Ok(reply.response)
        })
    }

    fn name(&self) -> String {
        self.shared.name.clone()
    }
}

impl fmt::Debug for ScriptUpstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptUpstream")
            .field("name", &self.shared.name)
            .field("turns", &self.shared.turns.len())
            .finish_non_exhaustive()
    }
}

/// Parts of a request that a script needs.
#[derive(Deserialize)]
struct ScriptedRequest<'a> {
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    stream: Option<bool>,
    /// Only in Chat Completions.
    stream_options: Option<StreamOptions>,
    #[serde(borrow)]
    messages: Vec<RequestRole<'a>>,
}

#[derive(Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
}

impl ScriptedRequest<'_> {
    fn includes_usage(&self) -> bool {
        let options = self.stream_options.as_ref();
        options.is_some_and(|options| options.include_usage == Some(true))
    }
}

/// The API of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Api {
    Messages,
    ChatCompletions,
}

#[derive(Deserialize)]
struct RequestRole<'a> {
    #[serde(borrow)]
    role: Option<Cow<'a, str>>,
}

struct Reply {
    response: Response<Body>,
    delay: Duration,
}

impl From<Response<Body>> for Reply {
    fn from(response: Response<Body>) -> Self {
        Self {
            response,
            delay: Duration::ZERO,
        }
    }
}

impl ScriptState {
    fn reply(&self, parts: &request::Parts, body: &[u8]) -> Reply {
        let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        let mut reply = match (&parts.method, parts.uri.path()) {
            (&Method::POST, "/v1/messages") => self.messages(Api::Messages, number, body),
            (&Method::POST, "/v1/chat/completions") => self.messages(Api::ChatCompletions, number, body),
            (&Method::POST, "/v1/messages/count_tokens") => {
                let count = json!({"input_tokens": tokens(body)});
                respond(StatusCode::OK, JSON, count.to_string()).into()
            }
            (&Method::GET, "/v1/models") => respond(StatusCode::OK, JSON, models().to_string()).into(),
            (method, path) => {
                let message = format!("unknown route of a script: {method} {path}");
                error(StatusCode::NOT_FOUND, &message, number).into()
            }
        };
        if let (header::Entry::Vacant(entry), Ok(id)) = (
            reply.response.headers_mut().entry(REQUEST_ID),
            HeaderValue::try_from(request_id(number)),
        ) {
            entry.insert(id);
        }
        reply
    }

    fn messages(&self, api: Api, number: u64, body: &[u8]) -> Reply {
        let request: ScriptedRequest<'_> = match serde_json::from_slice(body) {
            Ok(request) => request,
            Err(reason) => {
                let message = format!("invalid request body: {reason}");
                return error(StatusCode::BAD_REQUEST, &message, number).into();
            }
        };
        let count = self.turns.len();
        let index = match self.order {
            Order::Messages => {
                let roles = request
                    .messages
                    .iter()
                    .filter_map(|message| message.role.as_deref());
                let answered = roles.filter(|role| *role == "assistant").count();
                answered.checked_rem(count).unwrap_or_default()
            }
            Order::Requests => self.played.fetch_add(1, Ordering::Relaxed),
        };
        let Some(prepared) = self.turns.get(index) else {
            let message = format!(
                "no turn of the script is left for request {} ({count} turns); \
                 add a turn, or remove `order` to repeat the script",
                index + 1,
            );
            return error(StatusCode::BAD_REQUEST, &message, number).into();
        };
        let turn = &prepared.turn;
        let mut response = prepared.response(api, &request, number, tokens(body));
        replace(response.headers_mut(), &turn.headers);
        Reply {
            response,
            delay: turn.delay,
        }
    }
}

impl Prepared {
    fn response(
        &self,
        api: Api,
        request: &ScriptedRequest<'_>,
        number: u64,
        input_tokens: usize,
    ) -> Response<Body> {
        let facts = rendered::Response {
            number,
            model: request.model.as_deref().unwrap_or("script"),
            input_tokens,
        };
        let is_stream = request.stream == Some(true);
        match (&self.message, &self.turn.error) {
            (Some(message), error) if is_stream => {
                let completion = Completion::new(&message.message, facts);
                let mut events = match api {
                    Api::Messages => message.opening_events(facts),
                    Api::ChatCompletions => completion.opening_events(),
                };
                match (error, api) {
                    (Some(error), _) => events.push(error_event(error, number)),
                    (None, Api::Messages) => events.extend(message.closing_events(facts)),
                    (None, Api::ChatCompletions) => {
                        events.extend(completion.closing_events(request.includes_usage()));
                    }
                }
                let playback = Body::from_stream(Playback::new(events, self.turn.event_delay));
                let mut response = respond(StatusCode::OK, EVENT_STREAM, playback);
                let cache_control = HeaderValue::from_static("no-cache");
                response
                    .headers_mut()
                    .insert(header::CACHE_CONTROL, cache_control);
                response
            }
            (_, Some(error)) => {
                let (content_type, body) = error_body(error, number);
                let mut response = respond(error.status, content_type, body);
                replace(response.headers_mut(), &error.headers);
                response
            }
            (Some(message), None) => {
                let json = match api {
                    Api::Messages => message.json(facts),
                    Api::ChatCompletions => Completion::new(&message.message, facts).json(),
                };
                respond(StatusCode::OK, JSON, json)
            }
            (None, None) => error(StatusCode::INTERNAL_SERVER_ERROR, "an empty turn", number),
        }
    }
}

/// Error in a script, with its position and the expected value.
#[derive(Debug)]
pub struct ScriptError(String);

const TURN: &str = r#"for example {"turns": [{"content": [{"type": "text", "text": "Hello"}]}]}"#;

impl ScriptError {
    fn new(place: &str, error: &serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let text = error.to_string();
        let text = text
            .strip_suffix(&format!(" at line {line} column {column}"))
            .unwrap_or(&text);
        let advice = if text.starts_with("missing field `turns`") {
            format!("; expected {TURN}")
        } else if text.starts_with("missing field `status`") {
            "; expected for example {\"status\": 529}".to_owned()
        } else if text.starts_with("unknown field `expect`") {
            "; a script cannot check requests: write an `Upstream` for a test that does".to_owned()
        } else if ["chunk", "cut_after"]
            .map(|name| format!("unknown field `{name}`"))
            .iter()
            .any(|start| text.starts_with(start))
        {
            "; a script cannot split or cut off a stream: write an `Upstream` for a test that does".to_owned()
        } else if error.is_syntax() || error.is_eof() {
            format!("; expected JSON, {TURN}")
        } else {
            String::new()
        };
        Self(format!("{place}:{line}:{column}: {text}{advice}"))
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ScriptError {}

const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream; charset=utf-8";

fn respond(status: StatusCode, content_type: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let content_type = HeaderValue::from_static(content_type);
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}

fn replace(headers: &mut HeaderMap, by: &HeaderMap) {
    for (name, value) in by {
        headers.insert(name, value.clone());
    }
}

/// Builds an error response of the script upstream.
fn error(status: StatusCode, message: &str, number: u64) -> Response<Body> {
    respond(
        status,
        JSON,
        api_error::body(status, message, &request_id(number)),
    )
}

/// Returns the content type and the body of a turn's error.
fn error_body(error: &ErrorResponse, number: u64) -> (&'static str, Bytes) {
    error.body.clone().unwrap_or_else(|| {
        let message = format!("the script answers with status {}", error.status.as_u16());
        let body = api_error::body(error.status, &message, &request_id(number));
        (JSON, body.into())
    })
}

fn error_event(error: &ErrorResponse, number: u64) -> Bytes {
    let (content_type, body) = error_body(error, number);
    let text = String::from_utf8_lossy(&body);
    let data = if content_type == JSON {
        text.into_owned()
    } else {
        api_error::body(error.status, &text, &request_id(number))
    };
    format!("event: error\ndata: {data}\n\n").into()
}

fn request_id(number: u64) -> String {
    format!("req_script_{number:04}")
}

/// Estimates the number of tokens of a request.
fn tokens(body: &[u8]) -> usize {
    (body.len() / 4).max(1)
}

fn models() -> Value {
    json!({
        "data": [{
            "type": "model",
            "id": "script",
            "display_name": "Script",
            "created_at": "2026-01-01T00:00:00Z",
        }],
        "has_more": false,
        "first_id": "script",
        "last_id": "script",
    })
}
