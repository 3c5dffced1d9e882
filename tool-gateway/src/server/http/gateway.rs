//! [`Gateway`]: builds an `axum::Router` from a registry and an upstream.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use axum::Router;
use secrecy::{ExposeSecret as _, SecretString};
use tool_builtins::workspace::Workspace;
use tool_runtime::repair::FormatFixing;
use tool_runtime::{CancellationToken, Policy, ToolRegistry};

use super::routes;
use super::running_turns::Turns;
use crate::server::access::byte_budget::ByteBudget;
use crate::server::expiry;
use crate::server::generations::ClientTools;
use crate::server::mcp::McpServers;
use crate::server::observe::audit::MACHINE_TOOLS;
use crate::server::observe::counted_calls::CountedCalls;
use crate::server::observe::metrics::Metrics;
use crate::server::observe::timed_store::TimedStore;
use crate::server::offload::sweep;
use crate::server::turns::claims::Claims;
use crate::server::turns::lease_keeper::Leases;
use crate::server::turns::shared::Shared;
use crate::session::chain::ChainKey;
use crate::session::database::create_folder;
use crate::session::memory::MemoryStore;
use crate::session::principal::Principal;
use crate::session::store::{Reach, SessionStore};
use crate::settings::Settings;
use crate::settings::client_keys::ClientKey;
use crate::settings::limits::Limits;
use crate::settings::offload::{InvalidOffload, Offload, READ_OFFLOADED};
use crate::settings::unknown_tool::UnknownTool;
use crate::turn::ownership::{Offer, Ownership};
use crate::upstream::{TextCalls, Upstream};

/// An Anthropic-compatible server that runs its own tools and returns the client's calls to the client.
///
/// ```
/// use tool_gateway::Gateway;
/// use tool_gateway::upstream::script::ScriptUpstream;
/// use tool_runtime::{ToolRegistry, tool};
///
/// /// Tell the time.
/// #[tool(read_only)]
/// async fn now() -> &'static str {
///     "noon"
/// }
///
/// let mut registry = ToolRegistry::new();
/// registry.register::<now>()?;
/// let upstream = ScriptUpstream::embedded();
/// let app: axum::Router = Gateway::new(registry, upstream).router();
/// # let _ = app;
/// # Ok::<(), tool_runtime::RegistryError>(())
/// ```
pub struct Gateway {
    shared: Shared,
    registry: ToolRegistry,
    client_tools: ClientTools,
    /// Secret of the session digests; `None` uses the store's secret.
    secret: Option<ChainKey>,
}

impl Gateway {
    /// Maximum size of a request in bytes: 32 MiB, the limit of the API.
    pub const MAX_BODY: usize = Limits::MAX_BODY;

    /// Creates a gateway in front of an upstream, with the tools of a registry. Sessions are kept in memory.
    pub fn new(registry: ToolRegistry, upstream: impl Upstream) -> Self {
        Self::with_settings(registry, Arc::new(upstream), Settings::default())
    }

    /// Creates a gateway with these settings, except for the store and `offload`, which [`with_offload`](Self::with_offload) sets.
    pub(crate) fn with_settings(
        registry: ToolRegistry,
        upstream: Arc<dyn Upstream>,
        mut settings: Settings,
    ) -> Self {
        settings.offload = None;
        let upstream = if settings.text_calls.is_on() {
            Arc::new(TextCalls::new(upstream, settings.text_calls.clone()))
        } else {
            upstream
        };
        let definitions = registry.tool_definitions().into_iter();
        let deferred = definitions.filter(|tool| tool.hints.deferred == Some(true));
        settings
            .tools
            .deferred
            .extend(deferred.map(|tool| tool.name.as_str().to_owned()));
        let mut metrics = Metrics::new();
        metrics.translation_warnings = upstream.translation_warnings();
        if let Some(reader) = upstream.text_calls() {
            metrics.text_calls = reader.counters.clone();
        }
        Self {
            secret: None,
            registry: registry.layer(CountedCalls::new(metrics.clone())),
            client_tools: ClientTools::default(),
            shared: Shared {
                settings,
                generations: Arc::default(),
                mcp: McpServers::default(),
                upstream,
                store: Arc::new(MemoryStore::new()),
                store_fails: AtomicBool::new(false),
                instance: u128::from_le_bytes(crate::random::bytes()),
                secret: ChainKey::new(crate::random::bytes()),
                keys: Vec::new(),
                client_limits: Arc::default(),
                bodies: Arc::new(ByteBudget::new(Limits::default().bodies, Limits::MAX_BODY)),
                large_requests: Arc::default(),
                turns: Arc::default(),
                draining: CancellationToken::new(),
                closing: CancellationToken::new(),
                claims: Claims::default(),
                leases: Leases::new(),
                metrics,
            },
        }
    }

    /// Sets the store of sessions. If the store has a [secret](SessionStore::secret), session digests are keyed with that secret, so that a
    /// [`FileStore`](crate::session::file::FileStore) finds its sessions after a restart.
    #[must_use]
    pub fn with_store(self, store: impl SessionStore) -> Self {
        self.with_shared_store(Arc::new(store))
    }

    pub(crate) fn with_shared_store(mut self, store: Arc<dyn SessionStore>) -> Self {
        self.shared.store = store;
        self
    }

    /// States that all gateways of a [shared](Reach::Shared) store have the same folder as their [`Workspace`]. Without this
    /// statement, a gateway with such a store has none of the built-in tools that touch the machine: a session may move to a gateway
    /// with other files.
    #[must_use]
    pub fn with_shared_workspace(mut self) -> Self {
        self.shared.settings.workspace.shared = true;
        self
    }

    /// Sets the secret of session digests. The default is the [store's secret](SessionStore::secret), or else a random one. A durable store
    /// without a secret needs this secret, with an equal value after each restart.
    #[must_use]
    pub fn with_secret(mut self, secret: [u8; 32]) -> Self {
        self.secret = Some(ChainKey::new(secret));
        self
    }

    /// Adds a key that clients send as `x-api-key` or `authorization: Bearer`. The name of the key identifies the principal, so sessions
    /// survive a change of the key. Without client keys, the gateway serves every client, and a client's credential identifies it.
    #[must_use]
    pub fn with_client_key(mut self, name: impl Into<String>, key: impl Into<SecretString>) -> Self {
        let key = key.into();
        self.shared
            .keys
            .push(ClientKey::new(name.into(), key.expose_secret()));
        self
    }

    /// Adds a client key by its SHA-256. The name of the key identifies the principal.
    #[must_use]
    pub fn with_client_key_sha256(mut self, name: impl Into<String>, sha256: [u8; 32]) -> Self {
        self.shared.keys.push(ClientKey {
            name: name.into(),
            sha256: sha256.into(),
        });
        self
    }

    /// Adds client keys.
    pub(crate) fn with_client_keys(mut self, keys: Vec<ClientKey>) -> Self {
        self.shared.keys.extend(keys);
        self
    }

    /// Sets which of the gateway's tools are added to requests.
    #[must_use]
    pub fn with_offer(mut self, offer: Offer) -> Self {
        self.shared.settings.tools.offer = offer;
        self
    }

    /// Sets the ownership rules for tools that both the client and the gateway have.
    ///
    /// # Errors
    ///
    /// If a name in the table of internal tools is not in the registry.
    pub fn with_ownership(mut self, ownership: Ownership) -> Result<Self, UnknownTool> {
        UnknownTool::check(&self.registry, ownership.internal_names())?;
        self.shared.settings.tools.ownership = ownership;
        Ok(self)
    }

    /// Adds tools whose calls wait for the client's results if the same message has external calls. Use this for side effects that should
    /// happen only if the client continues. Tools with the [hint](tool_runtime::definition::Hints::deferred) `deferred` are always
    /// deferred.
    ///
    /// # Errors
    ///
    /// If a name is not in the registry.
    pub fn with_deferred<'n>(
        mut self,
        names: impl IntoIterator<Item = &'n str> + Clone,
    ) -> Result<Self, UnknownTool> {
        UnknownTool::check(&self.registry, names.clone())?;
        let deferred = &mut self.shared.settings.tools.deferred;
        deferred.extend(names.into_iter().map(str::to_owned));
        Ok(self)
    }

    /// Offloads long results of the gateway's tools to files. The model receives a pointer, and every request offers the tool
    /// `ReadOffloaded`, with any [`Offer`]. [`with_ownership`](Self::with_ownership) then accepts this name as an internal tool.
    ///
    /// [`router`](Self::router) starts a task that removes files whose session is no longer in the store.
    ///
    /// # Errors
    ///
    /// If an excluded name is not in the registry, if the registry has a tool named `ReadOffloaded`, or if the path of the directory is not
    /// absolute.
    pub fn with_offload(mut self, offload: Offload) -> Result<Self, InvalidOffload> {
        UnknownTool::check(&self.registry, offload.excluded().iter().map(String::as_str))?;
        self.set_offload(offload)?;
        Ok(self)
    }

    pub(crate) fn set_offload(&mut self, mut offload: Offload) -> Result<(), InvalidOffload> {
        self.registry = offload.install(self.registry.clone())?;
        self.shared.settings.offload = Some(offload);
        Ok(())
    }

    /// Sets whether a history is also found after a change of the system prompt or the tools, such as a clock in the prompt; true by
    /// default. The history must belong to exactly one session of the client, and the request must declare every tool that the hidden rounds
    /// call.
    #[must_use]
    pub fn with_ignore_context(mut self, ignore_context: bool) -> Self {
        self.shared.settings.sessions.ignore_context = ignore_context;
        self
    }

    /// Sets the time for which a request waits for another gateway of the store that runs its turn, 30 seconds by default. The answer is 409
    /// afterwards.
    #[must_use]
    pub fn with_join_time(mut self, time: Duration) -> Self {
        self.shared.settings.sessions.join_time = time;
        self
    }

    /// Sets the maximum number of internal rounds of a turn, 25 by default. After the last one, the client receives `pause_turn` and can
    /// continue.
    #[must_use]
    pub fn with_max_rounds(mut self, rounds: usize) -> Self {
        self.shared.settings.limits.rounds = rounds.max(1);
        self
    }

    /// Sets the number of tokens after which a turn begins no further round; unlimited by default. Input, output and cached tokens count.
    /// At the limit, the client receives `pause_turn` and can continue.
    #[must_use]
    pub fn with_max_tokens(mut self, tokens: u64) -> Self {
        self.shared.settings.limits.tokens = Some(tokens);
        self
    }

    /// Sets the time in which a turn may begin rounds, 10 minutes by default. The deadline of its calls is equal.
    #[must_use]
    pub fn with_max_time(mut self, time: Duration) -> Self {
        self.shared.settings.limits.turn_time = time;
        self
    }

    /// Sets the idle timeout of the upstream, 10 minutes by default. Before the response, a timeout is answered with 504; within the
    /// response, with an error event.
    #[must_use]
    pub fn with_upstream_idle(mut self, time: Duration) -> Self {
        self.shared.settings.limits.upstream_idle = time;
        self
    }

    /// Sets the idle timeout of a client that sends a request's body, 30 seconds by default. A timeout is answered with 408. The server
    /// limits the time for a request's headers, and disconnects a client that does not read.
    #[must_use]
    pub fn with_client_idle(mut self, time: Duration) -> Self {
        self.shared.settings.limits.client_idle = time;
        self
    }

    /// Sets the maximum time of a request's body, 5 minutes by default. A timeout is answered with 408.
    #[must_use]
    pub fn with_body_time(mut self, time: Duration) -> Self {
        self.shared.settings.limits.body_time = time;
        self
    }

    /// Sets the maximum size of a request in bytes: [`MAX_BODY`](Self::MAX_BODY) by default.
    #[must_use]
    pub fn with_max_body(mut self, bytes: usize) -> Self {
        self.shared.settings.limits.max_body = bytes;
        self
    }

    /// Sets the maximum number of bytes of all requests that are being read and digested: 256 MiB by default. A client has half of them, and
    /// a single request of the [maximum size](Self::with_max_body) always fits. Over it, the answer is 529 with `retry-after`.
    #[must_use]
    pub fn with_max_bodies(mut self, bytes: usize) -> Self {
        self.shared.settings.limits.bodies = bytes;
        self
    }

    /// Sets the maximum number of JSON values of a request: 2,000,000 by default. Over it, the answer is 413.
    #[must_use]
    pub fn with_max_values(mut self, values: usize) -> Self {
        self.shared.settings.limits.request_values = values;
        self
    }

    /// Sets the maximum number of messages of a request: 100,000 by default, the limit of the API. Over it, the answer is 413.
    #[must_use]
    pub fn with_max_messages(mut self, messages: usize) -> Self {
        self.shared.settings.limits.request_messages = messages;
        self
    }

    /// Sets the maximum number of content blocks of a request's messages: 100,000 by default. Over it, the answer is 413.
    #[must_use]
    pub fn with_max_blocks(mut self, blocks: usize) -> Self {
        self.shared.settings.limits.request_blocks = blocks;
        self
    }

    /// Sets the maximum number of tools that a request declares: 10,000 by default. Over it, the answer is 413.
    #[must_use]
    pub fn with_max_declared_tools(mut self, tools: usize) -> Self {
        self.shared.settings.limits.request_tools = tools;
        self
    }

    /// Sets the maximum number of concurrent requests of each client, and of its turns, which can outlive their requests; unlimited by
    /// default. Further requests are answered with 429 and `retry-after`.
    #[must_use]
    pub fn with_client_concurrency(mut self, requests: usize) -> Self {
        self.shared.settings.limits.client_concurrency = Some(requests);
        self
    }

    /// Sets the maximum number of requests of each client in a minute; unlimited by default. Further requests are answered with 429 and
    /// `retry-after`.
    #[must_use]
    pub fn with_client_rate(mut self, per_minute: u32) -> Self {
        self.shared.settings.limits.client_requests_per_minute = Some(per_minute);
        self
    }

    /// Sets the repair of responses of `/v1/chat/completions` and `/v1/responses`. By default, only the arguments of `TodoWrite` are
    /// repaired; with [`FormatFixing::for_every_tool`], the arguments of every tool.
    #[must_use]
    pub fn with_format_fixing(mut self, fixing: FormatFixing) -> Self {
        self.shared.settings.format_fixing = fixing;
        self
    }

    /// Sets the coercion of arguments to the schemas of the client's tools, for upstreams whose API is
    /// [translated](Upstream::passes_messages): [`Policy::Lossless`] by default. [`Policy::Strict`] changes nothing.
    #[must_use]
    pub fn with_client_coercion(mut self, policy: Policy) -> Self {
        self.shared.settings.client_tools.coercion = policy;
        self
    }

    /// Sets the maximum number of consecutive hidden rounds after calls of the client's tools that cannot be read, from such an upstream: 2 by
    /// default. A further such call ends the turn with a text.
    #[must_use]
    pub fn with_broken_calls(mut self, rounds: usize) -> Self {
        self.shared.settings.client_tools.broken_calls = rounds;
        self
    }

    /// Sets whether such an upstream's arguments for tools with `eager_input_streaming` are streamed in pieces, without coercion: `true` by
    /// default. Otherwise these calls are read and coerced as all others.
    #[must_use]
    pub fn with_eager_streaming(mut self, is_on: bool) -> Self {
        self.shared.settings.client_tools.eager_streaming = is_on;
        self
    }

    /// Serves requests for any host name. By default, the gateway serves only loopback addresses and rejects requests of web pages from
    /// other origins: a page that a user visits must not run tools.
    #[must_use]
    pub fn with_any_host(mut self) -> Self {
        self.shared.settings.any_host = true;
        self
    }

    /// Serves requests of web pages, extensions and desktop programs of these origins, with the CORS headers that browsers need. `*` matches
    /// any text: `app://obsidian.md`, `chrome-extension://*`.
    ///
    /// # Errors
    ///
    /// If an origin is not a scheme and a host.
    ///
    /// ```
    /// # use tool_gateway::{Gateway, upstream::ScriptUpstream};
    /// # use tool_runtime::ToolRegistry;
    /// let gateway = Gateway::new(ToolRegistry::new(), ScriptUpstream::embedded());
    /// let gateway = gateway.with_allowed_origins(["app://obsidian.md"])?;
    /// # Ok::<(), String>(())
    /// ```
    pub fn with_allowed_origins<'o>(
        mut self,
        origins: impl IntoIterator<Item = &'o str>,
    ) -> Result<Self, String> {
        let origins: Vec<_> = origins.into_iter().map(str::to_owned).collect();
        self.shared.settings.allowed_origins = origins.try_into()?;
        Ok(self)
    }

    /// Limits the client with a key of this name to some of the gateway's tools. Other names that the client declares are external tools.
    ///
    /// # Errors
    ///
    /// If a name is not in the registry.
    pub fn with_client_tools<'n>(
        mut self,
        client: &str,
        names: impl IntoIterator<Item = &'n str> + Clone,
    ) -> Result<Self, UnknownTool> {
        UnknownTool::check(&self.registry, names.clone())?;
        let names = names.into_iter().map(str::to_owned).collect();
        self.set_client_tools(client, names);
        Ok(self)
    }

    pub(crate) fn set_client_tools(&mut self, client: &str, names: BTreeSet<String>) {
        let client = Principal::from_key_name(client);
        self.client_tools.insert(client, names);
    }

    /// Serves `/v1/messages/batches` and `/v1/files` even if requests are sent without the clients' credentials. Each client can then read and delete
    /// the batches and files of all other clients. With the clients' own credentials, these paths are always served.
    #[must_use]
    pub fn with_shared_account(mut self) -> Self {
        self.shared.settings.upstream.shared_account = true;
        self
    }

    /// Sets the maximum size of a request for batches or files in bytes, 512 MiB by default.
    #[must_use]
    pub fn with_max_upload(mut self, bytes: usize) -> Self {
        self.shared.settings.limits.max_upload = bytes;
        self
    }

    /// Removes values of `anthropic-beta` from the requests to the upstream, for servers that reject unknown values.
    #[must_use]
    pub fn with_removed_betas<'b>(mut self, betas: impl IntoIterator<Item = &'b str>) -> Self {
        self.shared.settings.upstream.remove_betas = betas.into_iter().map(str::to_owned).collect();
        self
    }

    /// Removes the block with Claude Code's billing header from system prompts. The block differs in each request, and would defeat the
    /// prompt cache of a server.
    #[must_use]
    pub fn with_billing_header_removed(mut self) -> Self {
        self.shared.settings.upstream.remove_billing_header = true;
        self
    }

    /// Adds the tools of MCP servers.
    pub(crate) fn with_mcp_servers(mut self, servers: McpServers) -> Self {
        #[cfg(feature = "mcp")]
        {
            self.shared.metrics.mcp = servers.metrics();
        }
        self.shared.mcp = servers;
        self
    }

    pub(crate) fn registry(&self) -> &ToolRegistry {
        &self.registry
    }

    /// Returns the names of the gateway's tools, for the startup message.
    pub(crate) fn tool_names(&self) -> Vec<String> {
        let tools = self.registry().tool_definitions().into_iter();
        tools.map(|tool| tool.name.as_str().to_owned()).collect()
    }

    /// Returns the directory of offloaded results, for the startup message.
    pub(crate) fn offload_directory(&self) -> Option<&Path> {
        self.shared.offload_directory()
    }

    /// Creates the directory for offloaded results, accessible only to the owner. An invalid directory is then an error at startup.
    pub(crate) fn create_offload_directory(&self) -> io::Result<()> {
        match self.offload_directory() {
            Some(directory) => create_folder(directory)
                .map_err(|error| io::Error::other(format!("{}: {error}", directory.display()))),
            None => Ok(()),
        }
    }

    /// Returns the name of the store, for the startup message.
    pub(crate) fn store_name(&self) -> String {
        self.shared.store.name()
    }

    /// Returns the name of the upstream, for the startup message.
    pub(crate) fn upstream_name(&self) -> String {
        self.shared.upstream.name()
    }

    /// Returns the running turns, for a graceful shutdown. Call this method before [`router`](Self::router).
    pub fn turns(&self) -> Turns {
        Turns::new(&self.shared)
    }

    /// Builds the routes of the API. Nest it, layer it, or serve it with `axum::serve`.
    pub fn router(self) -> Router {
        routes::router(self.into_shared())
    }

    /// Builds the router, and the router of the listener for metrics.
    pub(crate) fn routers(self) -> (Router, Router) {
        let shared = self.into_shared();
        (
            routes::router(Arc::clone(&shared)),
            routes::metrics_router(shared),
        )
    }

    fn into_shared(self) -> Arc<Shared> {
        let Self {
            mut shared,
            mut registry,
            client_tools,
            secret,
        } = self;
        if shared.store.reach() == Reach::Shared && !shared.settings.workspace.shared {
            remove_machine_tools(&mut registry);
        }
        if let Some(offload) = &shared.settings.offload
            && !offload.is_possible(shared.store.reach())
            && registry.unregister(READ_OFFLOADED).is_some()
        {
            tracing::error!(
                "no result is offloaded: several gateways use the store, and a session may move to a gateway without the files; set \
                 `Offload::shared` if all gateways have the same directory"
            );
        }
        let secret = secret.or_else(|| shared.store.secret().map(ChainKey::new));
        if let Some(secret) = secret {
            shared.secret = secret;
        } else if shared.store.reach().is_durable() {
            tracing::warn!(
                store = shared.store.name(),
                "sessions are not found after a restart: the store has no secret; set `Gateway::with_secret`"
            );
        }
        let limits = &shared.settings.limits;
        shared.bodies = Arc::new(ByteBudget::new(limits.bodies, limits.max_body));
        shared.store = Arc::new(TimedStore::new(shared.store, shared.metrics.clone()));
        shared.generations = shared.mcp.generations(registry, client_tools);
        let shared = Arc::new(shared);
        expiry::start(&shared);
        sweep::start(&shared);
        shared
    }
}

/// Removes the built-in tools that touch the machine.
fn remove_machine_tools(registry: &mut ToolRegistry) {
    #[cfg(target_os = "linux")]
    let has_shell = registry.state::<tool_builtins::shell::Shell>().is_some();
    #[cfg(not(target_os = "linux"))]
    let has_shell = false;
    if registry.state::<Workspace>().is_none() && !has_shell {
        return;
    }
    let removed = MACHINE_TOOLS.map(|name| registry.unregister(name).is_some());
    if removed.contains(&true) {
        tracing::error!(
            "the gateway has no tools for files and commands: several gateways use the store, and a session may move to a gateway with \
             another folder; set `Gateway::with_shared_workspace` if all gateways have the same folder"
        );
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway")
            .field("shared", &self.shared)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::record::SessionId;
    use crate::upstream::script::ScriptUpstream;

    #[tokio::test]
    async fn turns_and_sessions_are_dropped_with_the_router() {
        let directory = std::env::temp_dir().join(format!("tool-gateway-dropped-{}", std::process::id()));
        let unknown = directory.join(SessionId::random().to_string());
        std::fs::create_dir_all(&unknown).unwrap();
        let file = std::fs::File::create(unknown.join("toolu_1.md")).unwrap();
        let year = Duration::from_secs(365 * 24 * 3600);
        file.set_modified(std::time::SystemTime::now() - year).unwrap();
        let gateway = Gateway::new(ToolRegistry::new(), ScriptUpstream::embedded());
        let gateway = gateway.with_offload(Offload::new(directory.clone())).unwrap();
        let turns = Arc::downgrade(&gateway.shared.turns);
        let sessions = Arc::downgrade(&gateway.shared.store);
        let router = gateway.router();
        let swept = async {
            while unknown.exists() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), swept)
            .await
            .expect("the sweep of offloaded files has begun");
        drop(router);
        let dropped = async {
            while turns.strong_count() + sessions.strong_count() > 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        // The next sweep is at a later time.
        tokio::time::timeout(Duration::from_secs(60), dropped)
            .await
            .unwrap();
        std::fs::remove_dir_all(directory).unwrap();
    }
}
