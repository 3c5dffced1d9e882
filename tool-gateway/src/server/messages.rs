//! The routes. `messages` reads like the way of a request: who is it, which session, whose tools, then pass or drive.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use http_body_util::LengthLimitError;
use serde_json::{Map, Value, json};
use tracing::Span;

use super::answer::{answer, with_session};
use super::checkpoint::Checkpoint;
use super::drive;
use super::flushed_body::FlushedBody;
use super::forward;
use super::idle_body::{Idle, IdleBody};
use super::job::Job;
use super::log::TurnLine;
use super::metrics::TurnEnd;
use super::offload::READ_OFFLOADED;
use super::passing_message::{PassedMessage, PassingMessage};
use super::principal::principal;
use super::running_turns::Joined;
use super::save::{self, save};
use super::shared::Shared;
use super::spans;
use super::spawn_on_drop::SpawnOnDrop;
use super::watched_body::WatchedBody;
use crate::session::chain::{AnswerContent, Digest};
use crate::session::recognize::{Client, Found, Recognized, recognize, session_keys};
use crate::session::record::{Call, SessionId, Turn};
use crate::turn::ownership::{Tools, classify};
use crate::turn::{restore, upstream_request};
use crate::wire::block::Block;
use crate::wire::error::ApiError;
use crate::wire::request::MessagesRequest;

/// `POST /v1/messages`, within the limits of the client.
pub(super) async fn messages(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response, ApiError> {
    limited(shared, request, message).await
}

/// Answers a request of a client that is served, within its limits.
pub(super) async fn limited<F: Future<Output = Result<Response, ApiError>>>(
    shared: Arc<Shared>,
    request: Request,
    answer: impl FnOnce(Arc<Shared>, String, Request) -> F,
) -> Result<Response, ApiError> {
    admitted(&shared)?;
    let principal = principal(&shared.secret, &shared.keys, request.headers())?;
    let metrics = shared.metrics.clone();
    match shared.client_limits.admit(&principal) {
        Ok(permit) => Ok(permit.hold(answer(shared, principal, request).await?)),
        Err(refused) => {
            metrics.requests_limited.inc();
            Ok(refused.into_response())
        }
    }
}

async fn message(shared: Arc<Shared>, principal: String, request: Request) -> Result<Response, ApiError> {
    let (parts, body) = read(&shared, request).await?;
    let request = MessagesRequest::parse(body)?;
    let (client, tools, recognized) = look_up(&shared, principal, &parts, &request).await?;
    let session = recognized.session.clone().unwrap_or_else(SessionId::random);
    shared.metrics.recognized(recognized.found);
    if recognized.last_known.is_none() && recognized.groups.iter().any(|group| group.role == "assistant") {
        shared.metrics.histories_replayed.inc();
    }
    if is_passed_through(&tools, &recognized) {
        let shown = session_header(&session, recognized.found);
        let digests = Passing {
            client,
            recognized,
            session,
        };
        let span = spans::chat(&spans::model(&request));
        return pass_through(shared, parts, request.into_body(), digests, shown, span).await;
    }
    let calls = unknown_calls(&recognized, &request);
    if !calls.is_empty() && shared.running.show_call(|id| calls.contains(id)) {
        let message =
            "the turn with these calls has not ended yet; send the results when its message is complete";
        return Err(ApiError::new(StatusCode::CONFLICT, message));
    }
    // An error here leaves the suspended turn as it is.
    restore::check(&recognized, &request)?;
    let is_stream = request.is_stream();
    let identity = identity(&shared, &parts, &client, &recognized, &request);
    let is_retry = header(&parts.headers, "x-stainless-retry-count").is_some_and(|count| count != "0");
    let found = recognized.found;
    let stored = stored_checkpoint(&shared, identity);
    match shared.running.join(identity, is_retry, &session, stored).await? {
        Joined::Same(watcher) => {
            shared.metrics.turn(TurnEnd::Joined);
            let session = session_header(&watcher.session(), found);
            Ok(answer(watcher, is_stream, session).await)
        }
        Joined::New(running, watcher, checkpoint) => {
            let session = session_header(&watcher.session(), found);
            let job = Job {
                parts,
                request,
                client,
                recognized,
                session: watcher.session(),
                identity,
                tools,
            };
            // It outlives the client: what a tool has begun is recorded. A stream must not wait for a slow client, either.
            let turn = SpawnOnDrop::new(drive::drive(Arc::clone(&shared), job, running, checkpoint));
            Ok(turn.beside(answer(watcher, is_stream, session)).await)
        }
    }
}

/// Where the turn of a request had come to when the process before this one ended.
async fn stored_checkpoint(shared: &Shared, request: Digest) -> Result<Option<Checkpoint>, ApiError> {
    if !shared.store.is_durable() {
        return Ok(None);
    }
    let progress = match shared.store.progress(request).await {
        Ok(Some(progress)) => Checkpoint::read(&progress).map(Some),
        Ok(None) => Ok(None),
        Err(error) => Err(error),
    };
    progress.map_err(|error| save::unread(&error))
}

/// The ids of the calls in the last message of the model, if that message is not known.
fn unknown_calls(recognized: &Recognized, request: &MessagesRequest) -> HashSet<String> {
    let last = recognized
        .groups
        .iter()
        .enumerate()
        .rev()
        .find(|(_, group)| group.role == "assistant");
    let Some((_, group)) = last.filter(|(index, _)| !recognized.turns.contains_key(index)) else {
        return HashSet::new();
    };
    let messages = group.messages.iter().filter_map(|at| request.messages.get(*at));
    let calls = messages
        .flat_map(|message| &message.blocks)
        .filter_map(Block::tool_use);
    calls.map(|call| call.id).collect()
}

/// Whether neither request nor response is changed.
fn is_passed_through(tools: &Tools, recognized: &Recognized) -> bool {
    tools.internal.is_empty() && recognized.turns.values().all(|turn| turn.is_unchanged)
}

/// `POST /v1/messages/count_tokens`, within the limits of the client.
pub(super) async fn count_tokens(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response, ApiError> {
    limited(shared, request, count).await
}

/// Counts what would be sent.
async fn count(shared: Arc<Shared>, principal: String, request: Request) -> Result<Response, ApiError> {
    let (parts, body) = read(&shared, request).await?;
    let sent = {
        let request = MessagesRequest::parse(body)?;
        let (_, tools, recognized) = look_up(&shared, principal, &parts, &request).await?;
        if is_passed_through(&tools, &recognized) {
            request.into_body()
        } else {
            restore::check(&recognized, &request)?;
            // Deferred calls have not run: their results count as empty.
            let empty = |call: Call| {
                let result = json!({ "type": "tool_result", "tool_use_id": call.id });
                (call.id, Block::new(result.to_string()))
            };
            let results = restore::deferred(&recognized).into_iter().map(empty).collect();
            let restored = restore::restore(&shared.secret, &recognized, &request, &results)?;
            let is_after_internal = restored.continues_internal;
            upstream_request::body(&request, &restored.messages, &tools, is_after_internal)
        }
    };
    forward::send(&shared, &parts, sent.into()).await
}

/// What the upstream answers unchanged, within the limits of the client: `GET /v1/models`.
pub(super) async fn forwarded(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response, ApiError> {
    limited(shared, request, forward_unchanged).await
}

async fn forward_unchanged(shared: Arc<Shared>, _: String, request: Request) -> Result<Response, ApiError> {
    let (parts, body) = read(&shared, request).await?;
    forward::send(&shared, &parts, body.into()).await
}

/// `GET /v1/tools`: what the gateway offers, as a client may declare it.
pub(super) async fn tools(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    principal(&shared.secret, &shared.keys, &headers)?;
    Ok(Json(json!({ "data": shared.definitions(), "has_more": false })).into_response())
}

pub(super) async fn health() -> &'static str {
    "ok\n"
}

/// Whether new requests are admitted.
pub(super) async fn ready(State(shared): State<Arc<Shared>>) -> Result<&'static str, ApiError> {
    admitted(&shared).map(|()| "ok\n")
}

fn admitted(shared: &Shared) -> Result<(), ApiError> {
    if shared.closing.is_cancelled() {
        let message = "the gateway is being stopped; send the request to another, or later";
        return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message));
    }
    Ok(())
}

pub(super) async fn metrics(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    principal(&shared.secret, &shared.keys, &headers)?;
    let size = shared.store.size().await.ok().flatten();
    let headers = [(
        "content-type",
        "application/openmetrics-text; version=1.0.0; charset=utf-8",
    )];
    Ok((headers, shared.metrics.render(size)).into_response())
}

/// Clients look whether anyone is there.
pub(super) async fn root() -> &'static str {
    "tool-gateway\n"
}

pub(super) async fn not_found(request: Request) -> ApiError {
    let message = format!(
        "`{}` is not served; POST /v1/messages, /v1/chat/completions and /v1/responses are, and GET /v1/tools",
        request.uri().path()
    );
    ApiError::new(StatusCode::NOT_FOUND, message)
}

pub(super) async fn not_allowed(request: Request) -> ApiError {
    let message = format!(
        "`{}` is not served with {}",
        request.uri().path(),
        request.method()
    );
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, message)
}

/// Reads the whole body, which has to be text.
async fn read(shared: &Shared, request: Request) -> Result<(Parts, String), ApiError> {
    let (parts, body) = read_bytes(shared, request).await?;
    let body = String::from_utf8(body.into())
        .map_err(|error| ApiError::invalid(format!("the body is not UTF-8: {}", error.utf8_error())))?;
    Ok((parts, body))
}

/// Reads the whole body.
pub(super) async fn read_bytes(shared: &Shared, request: Request) -> Result<(Parts, Bytes), ApiError> {
    let (parts, body) = request.into_parts();
    let body = IdleBody::wrap(body, shared.client_idle);
    let body = axum::body::to_bytes(body, shared.max_body)
        .await
        .map_err(|error| incomplete(shared, &error))?;
    Ok((parts, body))
}

/// Why a request's body was not read to its end.
fn incomplete(shared: &Shared, error: &axum::Error) -> ApiError {
    let mut causes = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    let found = causes.find_map(|cause| {
        if cause.is::<LengthLimitError>() {
            let limit = shared.max_body >> 20;
            let message = format!("the request is larger than {limit} MB; send less");
            return Some((StatusCode::PAYLOAD_TOO_LARGE, message));
        }
        let idle = cause.downcast_ref::<Idle>()?;
        let message = format!("{idle} of the request; send it again");
        Some((StatusCode::REQUEST_TIMEOUT, message))
    });
    let (status, message) =
        found.unwrap_or_else(|| (StatusCode::BAD_REQUEST, format!("the request broke off: {error}")));
    ApiError::new(status, message)
}

/// Whose its tools are, and which conversation it goes on with.
async fn look_up(
    shared: &Shared,
    principal: String,
    parts: &Parts,
    request: &MessagesRequest,
) -> Result<(Client, Tools, Recognized), ApiError> {
    let client = Client {
        principal,
        keys: session_keys(header(&parts.headers, "x-claude-code-session-id"), request),
    };
    let tools = classify(
        &request.tools(),
        &shared.offered,
        shared.offer,
        shared.offload_directory.is_some().then_some(READ_OFFLOADED),
        &shared.ownership,
    )?;
    let recognized = recognized(shared, &client, request).await?;
    Ok((client, tools, recognized))
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// Recognises the session. Where it cannot be looked up, a store in memory makes it new: what the client sent goes up as it is. One that
/// outlives the process still has what ran in it, so that nothing goes up without that.
async fn recognized(
    shared: &Shared,
    client: &Client,
    request: &MessagesRequest,
) -> Result<Recognized, ApiError> {
    match recognize(&shared.secret, &*shared.store, client, request).await {
        Ok(recognized) => Ok(recognized),
        Err(error) => {
            let unread = save::unread(&error);
            if shared.store.is_durable() {
                return Err(unread);
            }
            Ok(Recognized::unknown(&shared.secret, client, request))
        }
    }
}

fn session_header(session: &SessionId, found: Found) -> HeaderValue {
    let text = format!("{session}; found={}", found.as_str());
    HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static("?"))
}

/// What makes two requests equal: everything but whether the answer is streamed.
fn identity(
    shared: &Shared,
    parts: &Parts,
    client: &Client,
    recognized: &Recognized,
    request: &MessagesRequest,
) -> Digest {
    let history = recognized
        .groups
        .last()
        .map_or(recognized.beginning, |group| group.digest);
    let settings = shared.secret.settings(request);
    let digests = [history, recognized.context, settings];
    let mut identity = vec![client.principal.as_bytes()];
    identity.extend(digests.iter().map(|digest| digest.as_bytes().as_slice()));
    // Neither the sessions that the client names nor system messages between the others are part of the history.
    identity.extend(client.keys.iter().map(String::as_bytes));
    let systems = request
        .messages
        .iter()
        .enumerate()
        .filter(|(_, message)| message.is_system());
    let systems: Vec<_> = systems
        .map(|(index, _)| format!("{index} {}", request.message_text(index).unwrap_or_default()))
        .collect();
    identity.extend(systems.iter().map(String::as_bytes));
    identity.push(parts.uri.query().unwrap_or_default().as_bytes());
    // Also of the upstream's account, where the client names one beside its key for the gateway.
    for name in [
        "anthropic-version",
        "anthropic-beta",
        "authorization",
        "x-api-key",
    ] {
        identity.push(header(&parts.headers, name).unwrap_or_default().as_bytes());
    }
    shared.secret.digest(&identity)
}

/// What is known of a message before it passes.
struct Passing {
    client: Client,
    recognized: Recognized,
    session: SessionId,
}

impl Passing {
    fn log(&self, shared: &Shared, status: StatusCode, usage: &Map<String, Value>, began: Instant) {
        if !status.is_success() {
            shared.metrics.turn(TurnEnd::Failed);
        }
        let line = TurnLine {
            session: &self.session,
            found: self.recognized.found,
            status: status.as_u16(),
            rounds: 1,
            tools: &[],
            usage,
            took: began.elapsed(),
        };
        line.write(&shared.metrics);
    }

    /// The turn that a message is, for the requests that go on from it.
    fn turn(&self, shared: &Shared, blocks: &[Block]) -> Turn {
        let Recognized {
            beginning,
            groups,
            context,
            state,
            ..
        } = &self.recognized;
        let answer = AnswerContent::new(&shared.secret, blocks.iter());
        Turn {
            id: crate::random::id(),
            session: self.session.clone(),
            point: answer.point(*beginning, groups),
            context: *context,
            answer: answer.digest(),
            // It has no calls by which it could be found.
            outline: answer.digest(),
            truth: Vec::new(),
            is_unchanged: true,
            drops_thinking: false,
            visible: Vec::new(),
            calls: Vec::new(),
            systems: Vec::new(),
            state: state.clone(),
        }
    }
}

/// Passes request and response on, byte for byte, and stores what the model said.
async fn pass_through(
    shared: Arc<Shared>,
    parts: Parts,
    body: String,
    passing: Passing,
    session: HeaderValue,
    span: Span,
) -> Result<Response, ApiError> {
    let began = Instant::now();
    let response = match forward::send(&shared, &parts, Bytes::from(body)).await {
        Ok(response) => response,
        Err(error) => {
            spans::fail(&span, error.status);
            passing.log(&shared, error.status, &Map::new(), began);
            return Err(error);
        }
    };
    shared.metrics.turn(TurnEnd::PassedThrough);
    let status = response.status();
    if !status.is_success() {
        spans::fail(&span, status);
        passing.log(&shared, status, &Map::new(), began);
        return Ok(with_session(response, session));
    }
    let message = PassingMessage::new(forward::is_stream(response.headers()));
    let response = response.map(|body: Body| {
        let watched = WatchedBody::wrap(body, message, move |message: Option<PassedMessage>| async move {
            let Some(message) = message else {
                spans::fail(&span, StatusCode::BAD_GATEWAY);
                return passing.log(&shared, StatusCode::BAD_GATEWAY, &Map::new(), began);
            };
            spans::record(&span, status, &message.usage);
            passing.log(&shared, status, &message.usage, began);
            let turn = passing.turn(&shared, &message.blocks);
            // A store that fails costs the session, not the answer.
            let _ = save(&shared, &passing.client, turn, None).await;
        });
        FlushedBody::wrap(watched)
    });
    Ok(with_session(response, session))
}
