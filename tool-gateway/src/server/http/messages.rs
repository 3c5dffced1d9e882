//! `POST /v1/messages` and `/v1/messages/count_tokens`. [`messages`] recognizes the session of a request, classifies its tools, and then
//! passes the request through or runs its turn.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde_json::json;
use tokio::time::{Instant, timeout};

use super::answer::{answer, with_session};
use super::identity::{header, identity};
use super::request_turns::RequestTurns;
use super::spawn_on_drop::SpawnOnDrop;
use crate::server::access::byte_budget::Reservation;
use crate::server::admit::request_body::{ReadRequest, read_text};
use crate::server::drive;
use crate::server::drive::forward;
use crate::server::drive::save;
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
use crate::session::client::{Client, call_digest, session_keys};
use crate::session::finder::Finder;
use crate::session::known_history::{Found, IsDeclared};
use crate::session::message_groups::Group;
use crate::session::minted_id::MintKey;
use crate::session::principal::Principal;
use crate::session::recognize::{Recognized, recognize};
use crate::session::record::{Call, SessionId};
use crate::session::store::{Reach, StoreError};
use crate::settings::offload::READ_OFFLOADED;
use crate::turn::ownership::{ClassifiedTools, Offer, OfferedTools, classify};
use crate::turn::restore;
use crate::turn::upstream_request::{self, AskedRound};
use crate::wire::block::Block;
use crate::wire::error::ApiError;
use crate::wire::object::Object;
use crate::wire::request::MessagesRequest;
use crate::wire::role::Role;

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
const CLAUDE_CODE_SESSION: HeaderName = HeaderName::from_static("x-claude-code-session-id");
const CLAUDE_CODE_AGENT: HeaderName = HeaderName::from_static("x-claude-code-agent-id");

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
        mut lookup_time,
        ..
    } = known.with_newest_tools(shared, &request)?;
    if let Some(id) = lost_id(shared, &client, &recognized, &request) {
        let time = &mut lookup_time;
        // Boxed, since it is rare, and larger than the rest of this future.
        let turn = Box::pin(find_lost_turn(
            shared, &client, &request, &tools, recognized, &id, time,
        ));
        recognized = turn.await?;
    }
    if !tools.missing.is_empty() {
        let missing: Vec<_> = tools.missing.iter().map(String::as_str).collect();
        tracing::warn!(
            tools = missing.join(", "),
            "tools of MCP servers are missing, and left out of the request"
        );
    }
    shared.metrics.recognized(recognized.found);
    if recognized.last_known.is_none()
        && recognized
            .groups
            .iter()
            .any(|group| group.role == Role::Assistant)
    {
        shared.metrics.histories_replayed.inc();
    }
    let mut digested = Digested {
        parts,
        request,
        client,
        tools,
        generation,
        recognized,
        identity: None,
    };
    let Digested {
        parts,
        request,
        client,
        tools,
        recognized,
        ..
    } = &digested;
    if shared.upstream.passes_messages()
        && is_passed_through(tools, recognized)
        && !shared.recovers_text_calls(request)
    {
        return Ok(digested);
    }
    check_thread(request)?;
    let calls = unknown_calls(recognized, request);
    if !calls.is_empty() && shared.turns.show_call(&client.principal, |id| calls.contains(id)) {
        return Err(turn_runs());
    }
    // An error leaves the suspended turn unchanged.
    restore::check(recognized, request)?;
    digested.identity = Some(identity(shared, parts, client, recognized, request));
    Ok(digested)
}

/// Parses a body with as many parts as the limits allow.
fn parse(shared: &Shared, body: String) -> Result<MessagesRequest, ApiError> {
    let caps = shared.settings.limits.caps();
    caps.check_text(&body)?;
    let request = MessagesRequest::parse(body)?;
    caps.check(&request)?;
    Ok(request)
}

/// Returns the ids of the calls in the model's last message, if that message is unknown.
fn unknown_calls(recognized: &Recognized, request: &MessagesRequest) -> HashSet<String> {
    let last = last_answer(&recognized.groups).filter(|index| !recognized.turns.contains_key(index));
    let Some(group) = last.and_then(|index| recognized.groups.get(index)) else {
        return HashSet::new();
    };
    let calls = group.blocks(request).filter_map(|block| block.tool_use());
    calls.map(|call| call.id).collect()
}

/// Returns the index of the model's last message.
fn last_answer(groups: &[Group]) -> Option<usize> {
    groups.iter().rposition(|group| group.role == Role::Assistant)
}

/// Returns an id that the gateway created for this client, from the model's last message, if that message is unknown. The turn has expired or
/// was removed, unless it still runs.
fn lost_id(
    shared: &Shared,
    client: &Client,
    recognized: &Recognized,
    request: &MessagesRequest,
) -> Option<String> {
    let is_shared = shared.store.reach() == Reach::Shared;
    // A store that only this gateway uses has the turns of a known session, unless they were removed.
    if recognized.found != Found::New && !is_shared {
        return None;
    }
    let calls = unknown_calls(recognized, request);
    if calls.is_empty() {
        return None;
    }
    let key = MintKey::new(&shared.secret, &client.principal);
    let own = calls.iter().find(|id| key.is_own(id))?;
    let is_running = shared.turns.show_call(&client.principal, |id| calls.contains(id));
    (!is_running).then(|| own.clone())
}

/// Returns the error of a request whose results are early.
fn turn_runs() -> ApiError {
    let message =
        "the turn with these calls has not ended yet; send the results when its message is complete";
    ApiError::new(StatusCode::CONFLICT, message)
}

/// Maximum time of the look-ups of a request in a store of several gateways.
const LOOKUP_TIME: Duration = Duration::from_secs(5);

/// Time that a request has left for look-ups; `None` without a limit.
struct LookupTime(Option<Duration>);

impl LookupTime {
    fn new(shared: &Shared) -> Self {
        Self((shared.store.reach() == Reach::Shared).then_some(LOOKUP_TIME))
    }

    /// Runs look-ups in the time that is left.
    async fn limit<T>(
        &mut self,
        lookups: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let Some(left) = &mut self.0 else {
            return lookups.await;
        };
        let began = Instant::now();
        let done = timeout(*left, lookups).await;
        *left = left.saturating_sub(began.elapsed());
        done.unwrap_or_else(|_| {
            let seconds = LOOKUP_TIME.as_secs();
            Err(StoreError(format!("no response within {seconds} s")))
        })
    }
}

/// Time for which the turn of an own id is looked for: another gateway may not have stored the turn yet.
const LOST_TIME: Duration = Duration::from_secs(2);

/// Result of the search for a turn.
enum Search {
    Found,
    /// A turn of the client runs on another gateway.
    Runs,
    Lost,
}

/// Looks again for the turn of an id that the gateway created. While the turn may still run on another gateway, the results are early.
async fn find_lost_turn(
    shared: &Shared,
    client: &Client,
    request: &MessagesRequest,
    tools: &ClassifiedTools,
    mut known: Recognized,
    id: &str,
    lookup_time: &mut LookupTime,
) -> Result<Recognized, ApiError> {
    let age = MintKey::new(&shared.secret, &client.principal).age(id);
    let time = shared.settings.limits.turn_time.saturating_add(CLOCK_DIFFERENCE);
    let is_unreadable = known.unreadable.is_some() && known.unreadable == last_answer(&known.groups);
    // A turn is stored at its end, and an older one has ended. A second look-up of a damaged record fails, too.
    if shared.store.reach() == Reach::Shared && age.is_some_and(|age| age <= time) && !is_unreadable {
        let finder = Finder::new(&*shared.store, client.digest);
        let call = call_digest(&shared.secret, &client.principal, id);
        let search = async {
            let until = Instant::now() + LOST_TIME;
            while finder.turn_of_call(call).await?.is_none() {
                if Instant::now() >= until {
                    let is_running = shared.store.has_lease(client.digest).await?;
                    return Ok(if is_running { Search::Runs } else { Search::Lost });
                }
                tokio::time::sleep(LOST_TIME / 10).await;
            }
            Ok(Search::Found)
        };
        let search = lookup_time.limit(search).await;
        match search.map_err(|error| save::unread(&error))? {
            Search::Found => return recognized(shared, client, request, tools, lookup_time).await,
            Search::Runs => return Err(turn_runs().with_retry_after(2)),
            Search::Lost => {}
        }
    }
    tracing::warn!(
        "the turn of a call in the history is not in the store, so the messages are forwarded unchanged"
    );
    if known.found == Found::New {
        known.found = Found::Lost;
    }
    Ok(known)
}

/// Maximum difference between the clocks of two gateways for which a running turn is recognized.
const CLOCK_DIFFERENCE: Duration = Duration::from_secs(120);

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
            messages: &restored.messages,
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

/// A request with its tools and its session.
struct KnownRequest {
    client: Client,
    tools: ClassifiedTools,
    generation: Arc<Generation>,
    recognized: Recognized,
    /// Whether this process does not know the session, either because the session is new, or because the process is.
    is_unknown: bool,
    lookup_time: LookupTime,
}

impl KnownRequest {
    /// Replaces the tools of a session that this process does not know. A server may have listed its tools since the look-up, even if
    /// there was nothing to wait for.
    fn with_newest_tools(mut self, shared: &Shared, request: &MessagesRequest) -> Result<Self, ApiError> {
        if !self.is_unknown {
            return Ok(self);
        }
        let last = self.recognized.last_known_turn().and_then(|turn| turn.generation);
        let mut newest = shared.generations.current();
        if let Some(first) = shared.generations.other(&newest, last) {
            newest = first;
        }
        if !Arc::ptr_eq(&newest, &self.generation) {
            self.tools = classified(shared, &newest, &self.client, request)?;
            self.generation = newest;
        }
        Ok(self)
    }
}

/// Classifies the tools of a request, and recognizes its session. A session keeps the tools of its first turn.
async fn look_up(
    shared: &Shared,
    principal: Principal,
    parts: &Parts,
    request: &MessagesRequest,
) -> Result<KnownRequest, ApiError> {
    let keys = session_keys(
        header(&parts.headers, &CLAUDE_CODE_SESSION),
        header(&parts.headers, &CLAUDE_CODE_AGENT),
        request,
    );
    let client = Client::new(&shared.secret, principal, keys);
    let mut generation = shared.generations.current();
    let mut tools = classified(shared, &generation, &client, request)?;
    let mut lookup_time = LookupTime::new(shared);
    let recognized = recognized(shared, &client, request, &tools, &mut lookup_time).await?;
    if recognized.session.is_none() {
        shared.mcp.refresh();
    }
    let last = recognized.last_known_turn().and_then(|turn| turn.generation);
    let first = shared.generations.other(&generation, last);
    let is_unknown = first.is_none()
        && last.is_none_or(|last| generation.digest != Some(last))
        && (last.is_some() || recognized.session.is_none());
    if let Some(first) = first {
        tools = classified(shared, &first, &client, request)?;
        generation = first;
    }
    Ok(KnownRequest {
        client,
        tools,
        generation,
        recognized,
        is_unknown,
        lookup_time,
    })
}

/// Waits for the first lists of the MCP servers whose tools take part in a turn.
async fn wait_for_servers(shared: &Shared, tools: &ClassifiedTools) {
    let settings = &shared.settings.tools;
    if settings.offer == Offer::Always {
        shared.mcp.first_lists(None).await;
    } else if !tools.missing.is_empty() {
        let names = tools.missing.iter();
        let names = names.map(|name| settings.ownership.internal_name(name).to_owned());
        shared.mcp.first_lists(Some(&names.collect())).await;
    }
}

/// Classifies the tools of a request, with the gateway's tools of a generation.
fn classified(
    shared: &Shared,
    generation: &Generation,
    client: &Client,
    request: &MessagesRequest,
) -> Result<ClassifiedTools, ApiError> {
    let settings = &shared.settings;
    classify(
        request.tools(),
        &OfferedTools {
            tools: generation.tools_of(&client.principal),
            offer: settings.tools.offer,
            always: settings.offload.is_some().then_some(READ_OFFLOADED),
            ownership: &settings.tools.ownership,
            had_schema: &|name, schema| shared.generations.had_schema(name, schema),
            is_of_server: &|name| settings.mcp.owns(name),
        },
    )
}

/// Recognizes the session. If a store in memory fails, the session is new and the client's messages are forwarded unchanged. The failure of
/// a durable store is an error, since the store has hidden rounds of the session.
async fn recognized(
    shared: &Shared,
    client: &Client,
    request: &MessagesRequest,
    tools: &ClassifiedTools,
    lookup_time: &mut LookupTime,
) -> Result<Recognized, ApiError> {
    let names = OnceLock::new();
    let is_declared = |name: &str| {
        let names: &Vec<String> = names.get_or_init(|| declared_names(request, tools));
        names.iter().any(|declared| declared.eq_ignore_ascii_case(name))
    };
    let ignore_context = shared.settings.sessions.ignore_context;
    let ignore_context = ignore_context.then_some(&is_declared as IsDeclared<'_>);
    let recognized = recognize(&shared.secret, &*shared.store, client, request, ignore_context);
    let recognized = lookup_time.limit(recognized).await;
    match recognized {
        Ok(recognized) => Ok(recognized),
        Err(error) => {
            let unread = save::unread(&error);
            if shared.store.reach().is_durable() {
                return Err(unread);
            }
            Ok(Recognized::unknown(&shared.secret, client, request))
        }
    }
}

/// Returns the names of the tools in the request to the upstream.
fn declared_names(request: &MessagesRequest, tools: &ClassifiedTools) -> Vec<String> {
    let declared = request
        .tools()
        .filter_map(|tool| Object::from_json(tool)?.string("name"));
    declared.chain(tools.internal.iter().cloned()).collect()
}

fn session_header(session: &SessionId, found: Found) -> HeaderValue {
    let text = [session.as_str(), "; found=", found.as_str()].concat();
    HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static("?"))
}
