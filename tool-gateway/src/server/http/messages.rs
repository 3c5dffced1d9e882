//! `POST /v1/messages` and `/v1/messages/count_tokens`. [`messages`] recognizes the session of a request, classifies its tools, and then
//! passes the request through or runs its turn.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use serde_json::json;

use super::answer::{answer, with_session};
use super::identity::{header, identity};
use super::known_request::{KnownRequest, classified, look_up, wait_for_servers};
use super::lost_turn::{find_lost_turn, lost_id, turn_runs, unknown_calls};
use super::request_turns::RequestTurns;
use super::spawn_on_drop::SpawnOnDrop;
use crate::server::access::byte_budget::Reservation;
use crate::server::admit::request_body::{ReadRequest, read_text};
use crate::server::drive;
use crate::server::drive::forward;
use crate::server::generations::Generation;
use crate::server::observe::metrics::TurnEnd;
use crate::server::observe::spans;
use crate::server::pass::pass_through::pass_through;
use crate::server::pass::passed_turn::PassedTurn;
use crate::server::turns::checkpoint::Checkpoint;
use crate::server::turns::job::Job;
use crate::server::turns::kept_turns::IncomingRequest;
use crate::server::turns::running_turn::RunEnd;
use crate::server::turns::shared::Shared;
use crate::server::turns::turn_table::Joined;
use crate::session::chain::Digest;
use crate::session::client::Client;
use crate::session::known_history::Found;
use crate::session::message_groups::GroupDigests;
use crate::session::principal::Principal;
use crate::session::recognize::Recognized;
use crate::session::record::{Call, SessionId};
use crate::turn::ownership::ClassifiedTools;
use crate::turn::restore;
use crate::turn::round_messages::RoundMessages;
use crate::turn::upstream_request::{self, AskedRound};
use crate::wire::block::Block;
use crate::wire::error::ApiError;
use crate::wire::request::MessagesRequest;

/// Handles `POST /v1/messages`.
pub(crate) async fn messages(
    State(shared): State<Arc<Shared>>,
    Extension(principal): Extension<Principal>,
    request: Request,
) -> Result<Response, ApiError> {
    let request = read_text(&shared, request).await?;
    let bytes = request.body.len();
    let parsed = parse_with_servers(&shared, principal, request).await?;
    let digested = {
        let shared = Arc::clone(&shared);
        let large_requests = Arc::clone(&shared.large_requests);
        large_requests
            .run(bytes, move || async move { digest(&shared, parsed).await })
            .await?
    };
    let Digested {
        parts,
        request,
        client,
        tools,
        generation,
        recognized,
        identity,
    } = digested;
    let session = recognized.session.clone().unwrap_or_else(SessionId::random);
    let Some(identity) = identity else {
        let header = session_header(&session, recognized.found);
        let span = spans::chat(&request);
        let leaves_text_calls = shared.leaves_text_calls(&request);
        let text_call_model = leaves_text_calls.then(|| spans::model(&request));
        let shared_by_turn = Arc::clone(&shared);
        let turn = PassedTurn::new(
            shared_by_turn,
            client,
            recognized,
            session,
            generation.digest,
            span,
            text_call_model,
        );
        let response = pass_through(&shared, parts, request.into_body(), turn).await?;
        return Ok(with_session(response, header));
    };
    let is_stream = request.is_stream();
    let incoming = incoming_request(&shared, &parts, identity);
    let found = recognized.found;
    let stored = RequestTurns::new(&shared, &client, &incoming);
    let joined = shared
        .turns
        .join(&client.principal, &incoming, &session, &stored)
        .await?;
    match joined {
        Joined::Same(watcher) => {
            shared.metrics.turn(TurnEnd::Joined);
            if let Some((turn, lease)) = watcher.unseen() {
                shared.record_delivery(client.digest, lease, turn);
            }
            let session = session_header(&watcher.session(), found);
            Ok(answer(watcher, is_stream, session).await)
        }
        Joined::New {
            running,
            watcher,
            checkpoint,
            lease,
        } => {
            let turn = Some(Arc::downgrade(&running));
            let keeper = shared.keep_lease(client.digest, lease, stored.claimed(), turn);
            let limits = &shared.settings.limits;
            let permit = match shared.client_limits.begin_turn(limits, &client.principal) {
                Ok(permit) => permit,
                Err(over) => {
                    shared.metrics.requests_limited.inc();
                    running.end(RunEnd::from(&over.error()));
                    return Ok(over.into_response());
                }
            };
            let session = session_header(&watcher.session(), found);
            let (generation, tools) = checkpoint
                .as_ref()
                .and_then(|checkpoint| first_tools(&shared, checkpoint, &generation, &client, &request))
                .unwrap_or((generation, tools));
            let job = Box::new(Job {
                parts,
                request,
                client,
                recognized,
                session: watcher.session(),
                lease,
                tools,
                generation,
            });
            // The turn outlives the client, since the results of tools are recorded. A stream must not wait for a slow client, either.
            let turn = SpawnOnDrop::new(drive::drive(
                Arc::clone(&shared),
                job,
                running,
                checkpoint,
                keeper,
                permit,
            ));
            Ok(turn.beside(answer(watcher, is_stream, session)).await)
        }
    }
}

/// Returns the tools with which a turn began, if they are others than the tools of a request that continues it.
fn first_tools(
    shared: &Shared,
    checkpoint: &Checkpoint,
    generation: &Generation,
    client: &Client,
    request: &MessagesRequest,
) -> Option<(Arc<Generation>, ClassifiedTools)> {
    let first = shared.generations.other(generation, checkpoint.generation)?;
    let tools = classified(shared, &first, client, request).ok()?;
    Some((first, tools))
}

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const RETRY_COUNT: HeaderName = HeaderName::from_static("x-stainless-retry-count");

/// Returns the request in the form that finds its turn.
fn incoming_request(shared: &Shared, parts: &Parts, identity: Digest) -> IncomingRequest {
    let idempotency_key = header(&parts.headers, &IDEMPOTENCY_KEY).filter(|key| !key.is_empty());
    IncomingRequest {
        identity,
        is_retry: header(&parts.headers, &RETRY_COUNT).is_some_and(|count| count != "0"),
        idempotency_key: idempotency_key
            .map(|key| shared.secret.digest(&[b"idempotency key", key.as_bytes()])),
    }
}

/// A request with the parts of its answer that follow from its text and the sessions.
struct Digested {
    parts: Parts,
    request: MessagesRequest,
    client: Client,
    tools: ClassifiedTools,
    generation: Arc<Generation>,
    recognized: Recognized,
    /// The digest that equal requests share; `None` if the request passes through.
    identity: Option<Digest>,
}

/// A parsed request with its tools and its session.
struct ParsedRequest {
    parts: Parts,
    request: MessagesRequest,
    known: KnownRequest,
    /// The bytes of the body in the budget of all bodies.
    reserved: Option<Reservation>,
}

/// Parses a request, looks up its session, and waits for the servers whose tools may take part. The wait occupies no thread for large
/// requests, which other clients need.
async fn parse_with_servers(
    shared: &Arc<Shared>,
    principal: Principal,
    request: ReadRequest<String>,
) -> Result<ParsedRequest, ApiError> {
    let bytes = request.body.len();
    let work = {
        let shared = Arc::clone(shared);
        move || async move {
            let ReadRequest {
                parts,
                body,
                reserved,
            } = request;
            let request = parse(&shared, body)?;
            let known = look_up(&shared, principal, &parts, &request).await?;
            Ok::<_, ApiError>(ParsedRequest {
                parts,
                request,
                known,
                reserved,
            })
        }
    };
    let parsed = shared.large_requests.run(bytes, work).await?;
    if parsed.known.is_unknown {
        wait_for_servers(shared, &parsed.known.tools).await;
    }
    Ok(parsed)
}

/// Recognizes the session of a request, and checks it. The bytes of its body are in the budget of all bodies until then.
async fn digest(shared: &Shared, request: ParsedRequest) -> Result<Digested, ApiError> {
    let ParsedRequest {
        parts,
        request,
        known,
        reserved: _reserved,
    } = request;
    let KnownRequest {
        client,
        tools,
        generation,
        mut recognized,
        mut digests,
        mut lookup_time,
        ..
    } = known.with_newest_tools(shared, &request)?;
    if let Some(id) = lost_id(shared, &client, &recognized, &request) {
        let time = &mut lookup_time;
        // Boxed, since it is rare, and larger than the rest of this future.
        let turn = find_lost_turn(shared, &client, &request, &tools, &recognized, &id, time);
        match Box::pin(turn).await? {
            Some(found) => (recognized, digests) = found,
            None if recognized.found == Found::New => recognized.found = Found::Lost,
            None => {}
        }
    }
    if !tools.missing.is_empty() {
        let missing: Vec<_> = tools.missing.iter().map(String::as_str).collect();
        tracing::warn!(
            tools = missing.join(", "),
            "tools of MCP servers are missing, and left out of the request"
        );
    }
    shared.metrics.recognized(recognized.found);
    if recognized.last_known.is_none() && recognized.groups.iter().any(|group| group.is_answer(&request)) {
        shared.metrics.histories_replayed.inc();
    }
    let identity = turn_identity(shared, &parts, &client, &tools, &recognized, &digests, &request)?;
    Ok(Digested {
        parts,
        request,
        client,
        tools,
        generation,
        recognized,
        identity,
    })
}

/// Checks a request whose turn the gateway runs, and returns its identity; `None` if the request passes through.
fn turn_identity(
    shared: &Shared,
    parts: &Parts,
    client: &Client,
    tools: &ClassifiedTools,
    recognized: &Recognized,
    digests: &GroupDigests,
    request: &MessagesRequest,
) -> Result<Option<Digest>, ApiError> {
    if shared.upstream.passes_messages()
        && is_passed_through(tools, recognized)
        && !shared.recovers_text_calls(request)
    {
        return Ok(None);
    }
    check_thread(request)?;
    let calls = unknown_calls(recognized, request);
    if !calls.is_empty() && shared.turns.show_call(&client.principal, |id| calls.contains(id)) {
        return Err(turn_runs());
    }
    // An error leaves the suspended turn unchanged.
    restore::check(recognized, request)?;
    Ok(Some(identity(
        shared, parts, client, recognized, digests, request,
    )))
}

/// Parses a body with as many parts as the limits allow.
fn parse(shared: &Shared, body: String) -> Result<MessagesRequest, ApiError> {
    let caps = shared.settings.limits.caps();
    caps.check_text(&body)?;
    let request = MessagesRequest::parse(body)?;
    caps.check(&request)?;
    Ok(request)
}

/// Returns whether request and response pass unchanged.
fn is_passed_through(tools: &ClassifiedTools, recognized: &Recognized) -> bool {
    tools.internal.is_empty()
        && tools.missing.is_empty()
        && recognized.turns.values().all(|turn| turn.is_unchanged)
}

/// Rejects a request of a message thread whose turn the gateway runs. A thread has the history at the upstream, so that the history has no
/// place for hidden rounds, and each round would create or continue the thread again. A string in this field is a session key.
fn check_thread(request: &MessagesRequest) -> Result<(), ApiError> {
    if request
        .get("thread")
        .is_some_and(|thread| thread.starts_with('{'))
    {
        let message =
            "thread: the gateway runs this turn, and needs the whole history; send it without `thread`";
        return Err(ApiError::unsupported_thread(message));
    }
    Ok(())
}

/// Handles `POST /v1/messages/count_tokens`: the upstream counts the tokens of the request that it would receive.
pub(crate) async fn count_tokens(
    State(shared): State<Arc<Shared>>,
    Extension(principal): Extension<Principal>,
    request: Request,
) -> Result<Response, ApiError> {
    let request = read_text(&shared, request).await?;
    let bytes = request.body.len();
    let parsed = parse_with_servers(&shared, principal, request).await?;
    let counted = {
        let shared = Arc::clone(&shared);
        let large_requests = Arc::clone(&shared.large_requests);
        large_requests
            .run(bytes, move || async move { counted(&shared, parsed) })
            .await?
    };
    forward::send(&shared, counted.parts, counted.body.into()).await
}

/// Returns the request whose tokens the upstream counts.
fn counted(shared: &Shared, request: ParsedRequest) -> Result<ReadRequest<String>, ApiError> {
    let ParsedRequest {
        parts,
        request,
        known,
        reserved,
    } = request;
    let KnownRequest {
        tools, recognized, ..
    } = known.with_newest_tools(shared, &request)?;
    let body = if is_passed_through(&tools, &recognized) {
        request.into_body()
    } else {
        restore::check(&recognized, &request)?;
        // Deferred calls have not run, so their results count as empty.
        let empty = |call: Call| {
            let result = json!({ "type": "tool_result", "tool_use_id": call.id });
            (call.id, Block::new(result.to_string()))
        };
        let results = restore::deferred(&recognized).into_iter().map(empty).collect();
        let restored = restore::restore(&shared.secret, &recognized, &request, &results)?;
        let round = AskedRound {
            messages: RoundMessages {
                request: &request,
                restored: &restored.messages,
                asked: &[],
                refused_thinking: None,
            },
            is_after_internal: restored.continues_internal,
            container: None,
            is_thinking_off: restored.lacks_thinking,
        };
        upstream_request::body(&request, &tools, &round)
    };
    Ok(ReadRequest {
        parts,
        body,
        reserved,
    })
}

fn session_header(session: &SessionId, found: Found) -> HeaderValue {
    let text = [session.as_str(), "; found=", found.as_str()].concat();
    HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static("?"))
}
