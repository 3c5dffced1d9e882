//! [`KnownRequest`]: a request with its tools and its session, which [`look_up`] finds.

use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::http::HeaderName;
use axum::http::request::Parts;
use tokio::time::{Instant, timeout};

use super::identity::header;
use crate::server::drive::save;
use crate::server::generations::Generation;
use crate::server::turns::shared::Shared;
use crate::session::client::{Client, session_keys};
use crate::session::known_history::IsDeclared;
use crate::session::message_groups::GroupDigests;
use crate::session::principal::Principal;
use crate::session::recognize::{Recognized, recognize};
use crate::session::store::{Reach, StoreError};
use crate::settings::offload::READ_OFFLOADED;
use crate::turn::ownership::{ClassifiedTools, Offer, OfferedTools, classify};
use crate::wire::error::ApiError;
use crate::wire::object::Object;
use crate::wire::request::MessagesRequest;

/// A request with its tools and its session.
pub(super) struct KnownRequest {
    pub(super) client: Client,
    pub(super) tools: ClassifiedTools,
    pub(super) generation: Arc<Generation>,
    pub(super) recognized: Recognized,
    pub(super) digests: GroupDigests,
    /// Whether this process does not know the session, either because the session is new, or because the process is.
    pub(super) is_unknown: bool,
    pub(super) lookup_time: LookupTime,
}

impl KnownRequest {
    /// Replaces the tools of a session that this process does not know. A server may have listed its tools since the look-up, even if
    /// there was nothing to wait for.
    pub(super) fn with_newest_tools(
        mut self,
        shared: &Shared,
        request: &MessagesRequest,
    ) -> Result<Self, ApiError> {
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

const CLAUDE_CODE_SESSION: HeaderName = HeaderName::from_static("x-claude-code-session-id");
const CLAUDE_CODE_AGENT: HeaderName = HeaderName::from_static("x-claude-code-agent-id");

/// Classifies the tools of a request, and recognizes its session. A session keeps the tools of its first turn.
pub(super) async fn look_up(
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
    let (recognized, digests) = recognized(shared, &client, request, &tools, &mut lookup_time).await?;
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
        digests,
        is_unknown,
        lookup_time,
    })
}

/// Waits for the first lists of the MCP servers whose tools take part in a turn.
pub(super) async fn wait_for_servers(shared: &Shared, tools: &ClassifiedTools) {
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
pub(super) fn classified(
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
pub(super) async fn recognized(
    shared: &Shared,
    client: &Client,
    request: &MessagesRequest,
    tools: &ClassifiedTools,
    lookup_time: &mut LookupTime,
) -> Result<(Recognized, GroupDigests), ApiError> {
    let names = OnceLock::new();
    let is_declared = |name: &str| {
        let names: &Vec<String> = names.get_or_init(|| declared_names(request, tools));
        names.iter().any(|declared| declared.eq_ignore_ascii_case(name))
    };
    let ignore_context = shared.settings.sessions.ignore_context;
    let ignore_context = ignore_context.then_some(&is_declared as IsDeclared<'_>);
    let lookups = pin!(recognize(
        &shared.secret,
        &*shared.store,
        client,
        request,
        ignore_context
    ));
    match lookup_time.limit(lookups).await {
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

/// Maximum time of the look-ups of a request in a store of several gateways.
const LOOKUP_TIME: Duration = Duration::from_secs(5);

/// Time that a request has left for look-ups; `None` without a limit.
pub(super) struct LookupTime(Option<Duration>);

impl LookupTime {
    fn new(shared: &Shared) -> Self {
        Self((shared.store.reach() == Reach::Shared).then_some(LOOKUP_TIME))
    }

    /// Runs look-ups in the time that is left. The caller pins them, since a future that is passed by value is stored twice: as the argument,
    /// and while it is awaited.
    pub(super) async fn limit<T>(
        &mut self,
        lookups: Pin<&mut impl Future<Output = Result<T, StoreError>>>,
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
