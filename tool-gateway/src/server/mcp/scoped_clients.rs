//! [`ScopedClients`]: processes of a server that start at calls: one for each client key or session, or one for all calls.

use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, sleep, timeout};
use tool_mcp::McpClient;
use tool_runtime::{CancellationToken, Context, ToolOutput};

use super::starts::{count_starts, start};
use crate::server::observe::mcp_metrics::McpMetrics;
use crate::session::principal::Principal;
use crate::settings::mcp::pins::Pins;
use crate::settings::mcp::server::{McpServerSettings, Scope};

/// Maximum number of processes of a server with the scope `principal`.
const PRINCIPALS: usize = 16;
/// Maximum number of processes of a server with the scope `session`.
const SESSIONS: usize = 64;
/// Maximum time for which a call waits for the end of another process.
const PLACE_WAIT: Duration = Duration::from_secs(5);
/// Longest and shortest time between two searches for processes without calls.
const MAX_SWEEP: Duration = Duration::from_secs(30);
const MIN_SWEEP: Duration = Duration::from_millis(50);

/// Reasons against pinned tools, by the server's name of the tool.
pub(crate) type RejectedTools = BTreeMap<String, String>;

/// Processes of a server. Each call belongs to the process of its scope.
#[derive(Debug)]
pub(crate) struct ScopedClients {
    settings: McpServerSettings,
    metrics: McpMetrics,
    /// Accepted definitions, if the server starts at the first call. A tool that differs is not called.
    pins: Option<Arc<Pins>>,
    rejected: watch::Sender<RejectedTools>,
    /// `None` after the end of the gateway.
    processes: Mutex<Option<HashMap<ScopeKey, ScopedProcess>>>,
    places: Arc<Semaphore>,
    limit: usize,
    stop: CancellationToken,
}

/// Calls with equal keys belong to one process.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum ScopeKey {
    Shared,
    Principal(Option<Principal>),
    Session(Option<String>),
}

/// Process with the place that it takes until its end.
#[derive(Debug)]
struct ScopedProcess {
    client: Arc<StartedClient>,
    calls: usize,
    last_use: Instant,
    place: OwnedSemaphorePermit,
}

#[derive(Debug)]
struct StartedClient {
    client: McpClient,
    /// Set at the end of the first start, for which calls wait.
    first_start: OnceCell<()>,
}

/// Call that keeps its process from being ended.
struct ScopedCall<'s> {
    clients: &'s ScopedClients,
    key: ScopeKey,
    process: Arc<StartedClient>,
}

impl Drop for ScopedCall<'_> {
    fn drop(&mut self) {
        let mut processes = self.clients.lock();
        if let Some(process) = processes.as_mut().and_then(|all| all.get_mut(&self.key)) {
            process.calls -= 1;
            process.last_use = Instant::now();
        }
    }
}

/// Reason why a call has no process.
enum NoProcess {
    Stopped,
    /// All processes have calls.
    AllBusy,
    /// The settings of the server are invalid.
    Invalid,
}

/// Call of a tool, which has a result for the model in any case.
type CallFuture = Pin<Box<dyn Future<Output = ToolOutput> + Send>>;

impl ScopedClients {
    pub(crate) fn new(
        settings: &McpServerSettings,
        metrics: &McpMetrics,
        pins: Option<Arc<Pins>>,
    ) -> Arc<Self> {
        let limit = match settings.scope {
            Scope::Shared => 1,
            Scope::Principal => PRINCIPALS,
            Scope::Session => SESSIONS,
        };
        let clients = Arc::new(Self {
            settings: settings.clone(),
            metrics: metrics.clone(),
            pins,
            rejected: watch::Sender::default(),
            processes: Mutex::new(Some(HashMap::new())),
            places: Arc::new(Semaphore::new(limit)),
            limit,
            stop: CancellationToken::new(),
        });
        // A shared process may have a state that all clients use.
        if settings.scope != Scope::Shared {
            tokio::spawn(Self::sweep(&clients));
        }
        clients
    }

    /// Returns the handler of all tools of the server.
    pub(crate) fn handler(
        self: &Arc<Self>,
    ) -> impl Fn(String, Value, Context) -> CallFuture + Clone + Send + Sync + use<> {
        let clients = Arc::clone(self);
        move |name, arguments, context| {
            let clients = Arc::clone(&clients);
            Box::pin(async move { clients.call(name, arguments, context).await })
        }
    }

    /// Returns the reasons against pinned tools, which are known after the first start.
    pub(crate) fn rejected(&self) -> watch::Receiver<RejectedTools> {
        self.rejected.subscribe()
    }

    /// Stops all processes concurrently, and waits for their ends.
    pub(crate) async fn stop(&self) {
        let all = self.lock().take();
        for process in all.into_iter().flat_map(HashMap::into_values) {
            process.end();
        }
        // The semaphore is never closed.
        let _ = self
            .places
            .acquire_many(u32::try_from(self.limit).unwrap_or(u32::MAX))
            .await;
    }

    fn lock(&self) -> MutexGuard<'_, Option<HashMap<ScopeKey, ScopedProcess>>> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn key(&self, context: &Context) -> ScopeKey {
        match self.settings.scope {
            Scope::Shared => ScopeKey::Shared,
            Scope::Principal => ScopeKey::Principal(context.extension().cloned()),
            Scope::Session => ScopeKey::Session(context.session().map(str::to_owned)),
        }
    }

    async fn call(&self, name: String, arguments: Value, context: Context) -> ToolOutput {
        let shown_name = context.tool_name().unwrap_or(&name).to_owned();
        let call = match self.process(self.key(&context)).await {
            Ok(call) => call,
            Err(reason) => return self.no_process(&name, &shown_name, &reason),
        };
        let StartedClient { client, first_start } = &*call.process;
        first_start
            .get_or_init(|| async {
                // A failure is part of the call's result.
                if client.ready().await.is_ok() {
                    self.compare(client);
                }
            })
            .await;
        if let Some(reason) = self.rejection(client, &name) {
            let server = &self.settings.key;
            return ToolOutput::error(format!(
                "`{shown_name}`: the MCP server `{server}` has changed this tool ({reason}), so it was not called; continue without it"
            ));
        }
        client.handler()(name, arguments, context).await
    }

    fn no_process(&self, tool: &str, shown_name: &str, reason: &NoProcess) -> ToolOutput {
        let start = format!("`{shown_name}`: the MCP server `{}`", self.settings.key);
        match reason {
            NoProcess::Stopped => ToolOutput::error(format!("{start} was stopped; continue without it")),
            NoProcess::Invalid => {
                ToolOutput::error(format!("{start} cannot be started; continue without it"))
            }
            NoProcess::AllBusy => {
                tracing::warn!(
                    server = self.settings.key,
                    tool,
                    limit = self.limit,
                    "all processes of an MCP server have calls"
                );
                ToolOutput::retry(format!(
                    "{start} has {} processes for other callers, which are all busy, so it was not called",
                    self.limit
                ))
            }
        }
    }

    /// Returns the process of a scope, which is started if there is none. Above the limit, the process without calls whose last call is
    /// the longest ago is ended first.
    async fn process(&self, key: ScopeKey) -> Result<ScopedCall<'_>, NoProcess> {
        if let Some(call) = self.running(&key)? {
            return Ok(call);
        }
        let place = if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            place
        } else {
            self.end_longest_idle()?;
            let place = timeout(PLACE_WAIT, Arc::clone(&self.places).acquire_owned()).await;
            place.ok().and_then(Result::ok).ok_or(NoProcess::AllBusy)?
        };
        // Another call may have started the process meanwhile.
        let mut processes = self.lock();
        let all = processes.as_mut().ok_or(NoProcess::Stopped)?;
        let process = match all.get_mut(&key) {
            Some(process) => process,
            None => all.entry(key.clone()).or_insert(self.start(place)?),
        };
        Ok(process.begin(self, key))
    }

    /// Returns a call of the running process of a scope.
    fn running(&self, key: &ScopeKey) -> Result<Option<ScopedCall<'_>>, NoProcess> {
        let mut processes = self.lock();
        let all = processes.as_mut().ok_or(NoProcess::Stopped)?;
        Ok(all.get_mut(key).map(|process| process.begin(self, key.clone())))
    }

    fn start(&self, place: OwnedSemaphorePermit) -> Result<ScopedProcess, NoProcess> {
        let client = start(&self.settings, &self.metrics).ok_or(NoProcess::Invalid)?;
        let (counted, metrics) = (client.clone(), self.metrics.clone());
        let (key, stop) = (self.settings.key.clone(), self.stop.child());
        tokio::spawn(async move {
            tokio::select! {
                () = count_starts(&counted, &key, &metrics, |_| {}) => {}
                () = stop.cancelled() => {}
            }
        });
        Ok(ScopedProcess {
            client: Arc::new(StartedClient {
                client,
                first_start: OnceCell::new(),
            }),
            calls: 0,
            last_use: Instant::now(),
            place,
        })
    }

    /// Ends the process without calls whose last call is the longest ago.
    fn end_longest_idle(&self) -> Result<(), NoProcess> {
        let mut processes = self.lock();
        let all = processes.as_mut().ok_or(NoProcess::Stopped)?;
        let idle = all.iter().filter(|(_, process)| process.calls == 0);
        let longest = idle.min_by_key(|(_, process)| process.last_use);
        let key = longest.map(|(key, _)| key.clone()).ok_or(NoProcess::AllBusy)?;
        if let Some(process) = all.remove(&key) {
            process.end();
        }
        Ok(())
    }

    /// Ends processes whose last call is too long ago, up to the end of these clients.
    fn sweep(clients: &Arc<Self>) -> impl Future<Output = ()> + Send + use<> {
        let clients = Arc::downgrade(clients);
        async move {
            while let Some(idle) = clients.upgrade().map(|clients| clients.settings.idle_time) {
                sleep((idle / 4).clamp(MIN_SWEEP, MAX_SWEEP)).await;
                let Some(clients) = clients.upgrade() else { return };
                let mut processes = clients.lock();
                let Some(all) = &mut *processes else { return };
                let is_unused =
                    |process: &mut ScopedProcess| process.calls == 0 && process.last_use.elapsed() >= idle;
                for (_, process) in all.extract_if(|_, process| is_unused(process)) {
                    process.end();
                }
            }
        }
    }

    /// Compares the list of a server that starts at the first call with its pins.
    fn compare(&self, client: &McpClient) {
        let Some(pins) = &self.pins else { return };
        let pinned = pins.definitions(&self.settings.key, true).into_iter();
        let rejected = pinned.filter_map(|tool| {
            let reason = self.check(pins, client, &tool.name).err()?;
            Some((tool.name, reason))
        });
        self.rejected.send_replace(rejected.collect());
    }

    /// Returns the reason why a tool of a server that starts at the first call is not called.
    fn rejection(&self, client: &McpClient, tool: &str) -> Option<String> {
        let reason = self.check(self.pins.as_deref()?, client, tool).err()?;
        self.rejected
            .send_if_modified(|rejected| rejected.insert(tool.to_owned(), reason.clone()).is_none());
        Some(reason)
    }

    fn check(&self, pins: &Pins, client: &McpClient, tool: &str) -> Result<(), String> {
        match client.definition(tool) {
            Some(found) => pins.check(&self.settings.key, &found),
            None if client.definitions().is_empty() => Ok(()),
            None => Err("missing in the list of the server".to_owned()),
        }
    }
}

impl Drop for ScopedClients {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl ScopedProcess {
    fn begin<'s>(&mut self, clients: &'s ScopedClients, key: ScopeKey) -> ScopedCall<'s> {
        self.calls += 1;
        ScopedCall {
            clients,
            key,
            process: Arc::clone(&self.client),
        }
    }

    /// Stops the process in the background. Its place is free after its end.
    fn end(self) {
        tokio::spawn(async move {
            self.client.client.stop().await;
            drop(self.place);
        });
    }
}
