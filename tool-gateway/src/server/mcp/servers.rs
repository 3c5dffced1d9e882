//! [`McpServers`]: starts the servers, publishes a generation after each change of their tools, and stops them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderMap;
use futures_util::future::join_all;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tool_runtime::{CancellationToken, Context, ToolRegistry};

use super::listed_tools::ListedTools;
use super::sources::{LeftOutBy, LeftOutTool, McpServerTools, WithServers, with_servers};
use super::started_server::StartedServer;
use crate::name_pattern::matches;
use crate::server::access::hop;
use crate::server::generations::{ClientTools, Generations};
use crate::server::observe::mcp_metrics::McpMetrics;
use crate::settings::mcp::pins::Pins;
use crate::settings::mcp::server::McpServerSettings;
use crate::settings::mcp::url_headers::RequestHeaders;
use crate::settings::permissions::ToolAliases;
use crate::settings::{NamedTools, Settings};

/// Maximum time for which a new session waits for servers.
const FIRST_LISTS: Duration = Duration::from_secs(5);
/// Maximum time for the end of all servers: after 2 s, SIGTERM, and after another 2 s, SIGKILL.
const STOP: Duration = Duration::from_secs(5);

/// Servers of the gateway. Clones share the servers, which end with the last clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct McpServers {
    servers: Arc<[StartedServer]>,
    first_starts: watch::Sender<Vec<FirstStart>>,
    aliases: ToolAliases,
    /// Patterns of the settings for tools of servers.
    patterns: Arc<[NamedTools]>,
    tasks: Arc<Tasks>,
    metrics: McpMetrics,
}

/// State of the first start of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FirstStart {
    Running,
    /// The server's tools are part of the current generation.
    Listed,
    Failed,
}

/// Cancels the tasks when it is dropped.
#[derive(Debug, Default)]
struct Tasks(CancellationToken);

impl Drop for Tasks {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl McpServers {
    /// Starts all servers in the background, in parallel.
    pub(crate) fn start(settings: &Settings, aliases: &ToolAliases) -> Self {
        Self::start_some(settings, aliases, |_| true)
    }

    /// Starts the servers that may have a tool with this name, or all servers.
    pub(crate) fn start_for(settings: &Settings, tool: Option<&str>) -> Self {
        Self::start_some(settings, &ToolAliases::default(), |server| {
            tool.is_none_or(|tool| server.prefix().is_empty() || server.owns(tool))
        })
    }

    fn start_some(
        settings: &Settings,
        aliases: &ToolAliases,
        is_wanted: impl Fn(&McpServerSettings) -> bool,
    ) -> Self {
        let pins = settings.mcp.pins.as_deref().map(|path| {
            let pins = Pins::read(path).unwrap_or_else(|error| {
                // The file was valid when the settings were checked.
                tracing::error!(error, "no tools of MCP servers are offered");
                Pins::default()
            });
            Arc::new(pins)
        });
        let metrics = McpMetrics::default();
        let servers = settings.mcp.servers.iter();
        let servers: Arc<[_]> = servers
            .filter(|settings| is_wanted(settings))
            .filter_map(|settings| StartedServer::start(settings, &metrics, pins.as_ref()))
            .collect();
        Self {
            first_starts: watch::Sender::new(vec![FirstStart::Running; servers.len()]),
            servers,
            aliases: aliases.clone(),
            patterns: settings.server_patterns().into(),
            tasks: Arc::default(),
            metrics,
        }
    }

    /// Returns the names of the servers.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.servers
            .iter()
            .map(|server| server.settings.key.as_str())
            .collect()
    }

    /// Returns the generations of the gateway's tools, which are published while servers start and change their lists.
    pub(crate) fn generations(&self, registry: ToolRegistry, clients: ClientTools) -> Arc<Generations> {
        if self.servers.is_empty() {
            return Arc::new(Generations::fixed(registry, clients));
        }
        let generations = Arc::new(Generations::changeable(registry.clone(), clients));
        let publisher = Publisher {
            servers: Arc::clone(&self.servers),
            own: registry,
            tools: vec![McpServerTools::default(); self.servers.len()],
            left_out: Vec::new(),
            aliases: self.aliases.clone(),
            patterns: Some(Arc::clone(&self.patterns)),
            metrics: self.metrics.clone(),
            first_starts: self.first_starts.clone(),
            generations: Arc::clone(&generations),
        };
        let stop = self.tasks.0.child();
        tokio::spawn(async move {
            tokio::select! {
                () = publisher.run() => {}
                () = stop.cancelled() => {}
            }
        });
        generations
    }

    /// Waits for the first starts of all servers, and returns the tools of the servers with these tools.
    pub(crate) async fn listed(&self, registry: ToolRegistry) -> ListedTools {
        let starts = join_all(self.servers.iter().map(StartedServer::ready)).await;
        let failures: Vec<_> = starts.into_iter().filter_map(Result::err).collect();
        let stderr = failures.iter().filter(|error| error.stderr().contains('\n'));
        let stderr = stderr.flat_map(|error| {
            let lines = error.stderr().lines();
            lines.map(|line| format!("standard error of `{}`: {line}", error.server()))
        });
        let tools = self
            .servers
            .iter()
            .map(|server| (&server.settings, McpServerTools::new(server, &self.metrics)));
        let WithServers {
            registry, left_out, ..
        } = with_servers(registry, tools);
        let left_out = left_out.iter().filter(|tool| tool.source != LeftOutBy::Settings);
        let unmatched = self
            .servers
            .iter()
            .flat_map(StartedServer::patterns_without_match);
        let unmatched = unmatched
            .map(|(setting, pattern)| format!("{setting}: no tool of the server matches `{pattern}`"));
        ListedTools {
            registry,
            left_out: left_out.map(ToString::to_string).chain(unmatched).collect(),
            stderr: stderr.collect(),
            failures: failures.iter().map(ToString::to_string).collect(),
        }
    }

    /// Returns pins of the tools that the servers have listed and the settings offer.
    pub(crate) fn current_pins(&self) -> Pins {
        let mut pins = Pins::default();
        for server in &*self.servers {
            let settings = &server.settings;
            for definition in server.definitions() {
                if settings.offers(&definition.name) {
                    pins.insert(&settings.key, &definition);
                }
            }
        }
        pins
    }

    /// Lists tools again in the background, if their list is older than its server allows.
    pub(crate) fn refresh(&self) {
        for server in &*self.servers {
            server.refresh_if_stale();
        }
    }

    /// Returns the counters, if there are servers.
    pub(crate) fn metrics(&self) -> Option<McpMetrics> {
        (!self.servers.is_empty()).then(|| self.metrics.clone())
    }

    /// Waits for the first starts of the servers that may have tools with these names, or of all servers: for 5 s, and for required servers
    /// until their starts succeed or fail. A server whose first start has failed is not waited for.
    pub(crate) async fn first_lists(&self, names: Option<&BTreeSet<String>>) {
        let is_wanted = |server: &StartedServer| {
            names.is_none_or(|names| names.iter().any(|name| server.settings.owns(name)))
        };
        let is_starting = |starts: &[FirstStart], only_required: bool| {
            starts.iter().zip(self.servers.iter()).any(|(start, server)| {
                *start == FirstStart::Running
                    && is_wanted(server)
                    && (server.settings.required || !only_required)
            })
        };
        if !is_starting(&self.first_starts.borrow(), false) {
            return;
        }
        let mut starts = self.first_starts.subscribe();
        // The sender is in `self`.
        let _ = timeout(FIRST_LISTS, starts.wait_for(|starts| !is_starting(starts, false))).await;
        let _ = starts.wait_for(|starts| !is_starting(starts, true)).await;
    }

    /// Returns the required servers that have not listed their tools.
    pub(crate) fn missing(&self) -> Vec<&str> {
        let starts = self.first_starts.borrow();
        let servers = self.servers.iter().zip(starts.iter());
        servers
            .filter(|(server, start)| server.settings.required && **start != FirstStart::Listed)
            .map(|(server, _)| server.settings.key.as_str())
            .collect()
    }

    /// Adds the headers of the client's request that calls of servers at URLs need.
    pub(crate) fn with_request_headers(&self, context: Context, request: &HeaderMap) -> Context {
        if !self.servers.iter().any(|server| server.settings.has_url()) {
            return context;
        }
        let mut headers = RequestHeaders {
            all: HeaderMap::new(),
            named: HeaderMap::new(),
        };
        headers.all.insert(hop::HOP, (hop::hops(request) + 1).into());
        for name in self
            .servers
            .iter()
            .flat_map(|server| server.settings.client_headers())
        {
            if let Some(value) = request.get(name) {
                headers.named.insert(name.clone(), value.clone());
            }
        }
        context.with_extension(headers)
    }

    /// Stops all servers, and waits for their ends for at most 5 s.
    pub(crate) async fn stop(&self) {
        let stops = join_all(self.servers.iter().map(StartedServer::stop));
        if timeout(STOP, stops).await.is_err() {
            tracing::warn!("an MCP server has not ended");
        }
    }
}

/// Change of a server's tools.
#[derive(Debug)]
struct ToolChange {
    /// Index of the server.
    server: usize,
    first_start: FirstStart,
    /// Whether the server had listed its tools before.
    is_later: bool,
}

/// Publishes generations.
struct Publisher {
    servers: Arc<[StartedServer]>,
    /// The gateway's own tools.
    own: ToolRegistry,
    /// Last known tools of each server.
    tools: Vec<McpServerTools>,
    /// Tools that were logged as left out.
    left_out: Vec<LeftOutTool>,
    aliases: ToolAliases,
    /// Patterns that are not checked yet.
    patterns: Option<Arc<[NamedTools]>>,
    metrics: McpMetrics,
    first_starts: watch::Sender<Vec<FirstStart>>,
    generations: Arc<Generations>,
}

impl Publisher {
    async fn run(mut self) {
        let (sender, mut changes) = mpsc::unbounded_channel();
        let servers = Arc::clone(&self.servers);
        let watches = servers.iter().enumerate();
        let watches = join_all(watches.map(|(index, server)| watch(index, server, &sender)));
        let metrics = self.metrics.clone();
        let states = join_all(servers.iter().map(|server| server.count_starts(&metrics)));
        let publishes = async {
            while let Some(change) = changes.recv().await {
                let mut all = vec![change];
                while let Ok(next) = changes.try_recv() {
                    all.push(next);
                }
                self.publish(all).await;
            }
        };
        tokio::join!(watches, states, publishes);
    }

    /// Sets the states of first starts, for which new sessions wait.
    fn end_first_starts(&self, changes: Vec<ToolChange>) {
        self.first_starts.send_modify(|starts| {
            for change in changes {
                if let Some(start) = starts.get_mut(change.server) {
                    *start = change.first_start;
                }
            }
        });
    }

    /// Publishes the next generation.
    async fn publish(&mut self, changes: Vec<ToolChange>) {
        let (servers, own) = (Arc::clone(&self.servers), self.own.clone());
        let mut tools = self.tools.clone();
        let metrics = self.metrics.clone();
        let indexes: Vec<_> = changes.iter().map(|change| change.server).collect();
        // A list of a thousand schemas is compiled for milliseconds.
        let built = tokio::task::spawn_blocking(move || {
            for index in indexes {
                if let (Some(tools), Some(server)) = (tools.get_mut(index), servers.get(index)) {
                    *tools = McpServerTools::new(server, &metrics);
                }
            }
            let settings = servers.iter().map(|server| &server.settings);
            let all = with_servers(own, settings.zip(tools.iter().cloned()));
            (tools, all)
        });
        let Ok((tools, all)) = built.await else {
            tracing::error!("the tools of MCP servers could not be published; the last ones stay");
            let failed = changes.into_iter().map(|change| ToolChange {
                first_start: FirstStart::Failed,
                ..change
            });
            return self.end_first_starts(failed.collect());
        };
        let WithServers {
            registry,
            left_out,
            aliases,
            counts,
        } = all;
        for (server, count) in &counts {
            self.metrics.set_tools(server, *count);
        }
        let reasons = left_out.iter().map(|tool| (tool.server.as_str(), tool.reason));
        self.metrics.set_left_out(reasons);
        for change in &changes {
            let Some(server) = self.servers.get(change.server) else {
                continue;
            };
            if change.is_later {
                self.metrics.change(&server.settings.key);
                continue;
            }
            for (setting, pattern) in server.patterns_without_match() {
                tracing::warn!(setting, pattern, "no tool of the MCP server matches a setting");
            }
        }
        for (tool, alias) in &aliases {
            self.aliases.insert(tool.clone(), alias);
        }
        self.tools = tools;
        let is_new =
            |tool: &&LeftOutTool| tool.source == LeftOutBy::Registry && !self.left_out.contains(tool);
        for tool in left_out.iter().filter(is_new) {
            tracing::warn!(
                server = tool.server,
                tool = tool.tool,
                reason = tool.reason,
                "tool is left out: {}",
                tool.detail
            );
        }
        self.left_out = left_out;
        let names: Vec<_> = registry
            .tool_definitions()
            .iter()
            .map(|tool| tool.name.clone())
            .collect();
        self.generations.publish(registry);
        self.end_first_starts(changes);
        let all_listed = self
            .first_starts
            .borrow()
            .iter()
            .all(|start| *start == FirstStart::Listed);
        if all_listed && let Some(patterns) = self.patterns.take() {
            let has_match = |named: &NamedTools| {
                let aliases = aliases.iter().map(|(_, alias)| alias);
                names
                    .iter()
                    .chain(aliases)
                    .any(|name| matches(&named.pattern, name))
            };
            for NamedTools { setting, pattern } in patterns.iter().filter(|named| !has_match(named)) {
                tracing::warn!(
                    setting,
                    pattern,
                    "no tool matches a setting, now that all MCP servers have listed their tools"
                );
            }
        }
    }
}

/// Sends the end of the first start, and each later change of a server's tools.
async fn watch(index: usize, server: &StartedServer, changes: &mpsc::UnboundedSender<ToolChange>) {
    let mut list = server.changes();
    let first_start = match server.ready().await {
        Ok(()) => FirstStart::Listed,
        Err(_) => FirstStart::Failed,
    };
    let mut has_listed = first_start == FirstStart::Listed;
    if has_listed {
        list.mark_unchanged();
    }
    let send = |first_start, is_later| {
        let change = ToolChange {
            server: index,
            first_start,
            is_later,
        };
        changes.send(change).is_ok()
    };
    let mut is_open = send(first_start, false);
    while is_open && list.next().await {
        is_open = send(FirstStart::Listed, has_listed);
        has_listed = true;
    }
}
