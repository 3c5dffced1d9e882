//! [`McpServerTools`]: the tools of one server for the registry of the gateway. [`with_servers`] adds the tools of all servers.

use std::fmt;

use tool_runtime::ToolRegistry;
use tracing::subscriber::NoSubscriber;

use super::started_server::StartedServer;
use crate::server::observe::counted_calls::{CallCounters, CountedCalls, EndedCall};
use crate::server::observe::mcp_metrics::McpMetrics;
use crate::settings::mcp::server::McpServerSettings;

/// Tool of a server that is not offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeftOutTool {
    /// Key of the server.
    pub(crate) server: String,
    /// Name in the server's list.
    pub(crate) tool: String,
    /// Reason as a label of a metric.
    pub(crate) reason: &'static str,
    /// Reason for people.
    pub(crate) detail: String,
    /// Part of the program that found the reason.
    pub(crate) source: LeftOutBy,
}

/// Part of the program that leaves out a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeftOutBy {
    /// The client of the server, which logs its reasons.
    Client,
    /// The settings of the server.
    Settings,
    /// The registry of the gateway.
    Registry,
}

/// Displays ``server `git`: git_log: duplicate name``.
impl fmt::Display for LeftOutTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "server `{}`: {}: {}", self.server, self.tool, self.detail)
    }
}

/// Usable tools of a server at one time, under the server's names.
#[derive(Debug, Clone, Default)]
pub(crate) struct McpServerTools {
    registry: ToolRegistry,
    left_out: Vec<LeftOutTool>,
}

impl McpServerTools {
    /// Builds the tools of a server's current list: filtered, described, and in the order of their names.
    pub(crate) fn new(server: &StartedServer, metrics: &McpMetrics) -> Self {
        let settings = &server.settings;
        let left_out = |source, tool: String, reason, detail| LeftOutTool {
            server: settings.key.clone(),
            tool,
            reason,
            detail,
            source,
        };
        let mut all: Vec<_> = server
            .left_out()
            .into_iter()
            .map(|tool| left_out(LeftOutBy::Client, tool.tool, tool.reason.as_str(), tool.detail))
            .collect();
        let (mut definitions, others): (Vec<_>, Vec<_>) = server
            .definitions()
            .into_iter()
            .partition(|definition| settings.offers(&definition.name));
        all.extend(others.into_iter().map(|definition| {
            let detail = "excluded by `tools` or `except`".to_owned();
            left_out(LeftOutBy::Settings, definition.name, "filtered", detail)
        }));
        definitions.retain(|definition| {
            let checked = server.check_pin(definition);
            if let Err(detail) = &checked {
                let name = definition.name.clone();
                all.push(left_out(LeftOutBy::Registry, name, "not_pinned", detail.clone()));
            }
            checked.is_ok()
        });
        definitions.sort_by(|one, other| one.name.cmp(&other.name));
        for definition in &mut definitions {
            definition.description = settings.description(&definition.description);
            if settings.is_read_only(&definition.name) {
                definition.hints.read_only = Some(true);
            }
            if settings.is_deferred(&definition.name) {
                definition.hints.deferred = Some(true);
            }
        }
        let mut registry = ToolRegistry::new()
            .with_policy(settings.policy())
            .layer(CountedCalls::new(ServerCounters {
                metrics: metrics.clone(),
                server: settings.key.clone(),
            }));
        let unusable = quietly(|| server.register(&mut registry, definitions));
        all.extend(unusable.into_iter().map(|tool| {
            let detail = tool.to_string();
            left_out(LeftOutBy::Registry, tool.name, tool.error.code(), detail)
        }));
        Self {
            registry,
            left_out: all,
        }
    }
}

/// Counters of the calls of one server.
#[derive(Debug, Clone)]
struct ServerCounters {
    metrics: McpMetrics,
    /// Key of the server.
    server: String,
}

impl CallCounters for ServerCounters {
    fn count(&self, call: &EndedCall) {
        if call.has_wrong_structured_value {
            self.metrics.message(&self.server, "invalid_output");
        }
        self.metrics.call(&self.server, call.failure, call.duration);
    }
}

/// Runs a registration without its log, since the tools that were left out are logged with the name of their server.
fn quietly<T>(register: impl FnOnce() -> T) -> T {
    tracing::subscriber::with_default(NoSubscriber::new(), register)
}

/// Registry of the gateway with the tools of its servers.
#[derive(Debug)]
pub(crate) struct WithServers {
    pub(crate) registry: ToolRegistry,
    pub(crate) left_out: Vec<LeftOutTool>,
    /// Names of the servers' tools, with their names for permission rules.
    pub(crate) aliases: Vec<(String, String)>,
    /// Numbers of tools by server.
    pub(crate) counts: Vec<(String, usize)>,
}

/// Adds the tools of servers to the gateway's own tools. Of two tools with one name, the first is offered.
pub(crate) fn with_servers<'s>(
    mut registry: ToolRegistry,
    servers: impl IntoIterator<Item = (&'s McpServerSettings, McpServerTools)>,
) -> WithServers {
    let mut all = Vec::new();
    let mut aliases = Vec::new();
    let mut counts = Vec::new();
    for (settings, tools) in servers {
        all.extend(tools.left_out);
        let first = registry.tool_definitions().len();
        let left_out = if settings.prefix().is_empty() {
            quietly(|| registry.merge_usable(tools.registry))
        } else {
            // The prefix is checked at the start.
            quietly(|| registry.nest_usable(settings.prefix(), tools.registry)).unwrap_or_default()
        };
        all.extend(left_out.into_iter().map(|tool| LeftOutTool {
            server: settings.key.clone(),
            detail: tool.to_string(),
            reason: tool.error.code(),
            tool: tool.name,
            source: LeftOutBy::Registry,
        }));
        let added = registry.tool_definitions().into_iter().skip(first);
        counts.push((settings.key.clone(), added.len()));
        aliases.extend(added.filter_map(|tool| {
            let own_name = registry.get_tool(&tool.name)?.source_name();
            Some((tool.name.clone(), settings.alias(own_name)))
        }));
    }
    WithServers {
        registry,
        left_out: all,
        aliases,
        counts,
    }
}
