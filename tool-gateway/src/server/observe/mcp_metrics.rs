//! [`McpMetrics`]: counters of MCP servers, whose labels are from the configuration only.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use tool_runtime::result::Failure;

/// States of a server.
const STATES: [&str; 5] = ["starting", "ready", "failed", "unauthorized", "stopped"];

/// Counters of MCP servers. Clones share the counters.
#[derive(Debug, Clone)]
pub(crate) struct McpMetrics {
    servers: Family<ServerStateLabels, Gauge>,
    starts: Family<StartLabels, Counter>,
    call_seconds: Family<ServerCallLabels, Histogram, fn() -> Histogram>,
    tools: Family<ServerLabels, Gauge>,
    left_out: Family<LeftOutLabels, Gauge>,
    changes: Family<ServerLabels, Counter>,
    messages: Family<MessageLabels, Counter>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ServerLabels {
    server: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ServerStateLabels {
    server: String,
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StartLabels {
    server: String,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ServerCallLabels {
    server: String,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LeftOutLabels {
    server: String,
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MessageLabels {
    server: String,
    kind: &'static str,
}

/// Creates a histogram with buckets from 1 ms (a local call) to 10 minutes (`max_seconds`).
fn call_buckets() -> Histogram {
    Histogram::new([
        0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0, 600.0,
    ])
}

impl Default for McpMetrics {
    fn default() -> Self {
        Self {
            servers: Family::default(),
            starts: Family::default(),
            call_seconds: Family::new_with_constructor(call_buckets),
            tools: Family::default(),
            left_out: Family::default(),
            changes: Family::default(),
            messages: Family::default(),
        }
    }
}

impl McpMetrics {
    /// Sets the state of a server.
    pub(crate) fn set_state(&self, server: &str, current: &'static str) {
        for state in STATES {
            let labels = ServerStateLabels {
                server: server.to_owned(),
                state,
            };
            self.servers
                .get_or_create(&labels)
                .set(i64::from(state == current));
        }
    }

    /// Counts a start that has succeeded or failed.
    pub(crate) fn start(&self, server: &str, is_ok: bool) {
        let labels = StartLabels {
            server: server.to_owned(),
            result: if is_ok { "ok" } else { "failed" },
        };
        self.starts.get_or_create(&labels).inc();
    }

    /// Counts a call; `failure` is `None` if the call succeeded.
    pub(crate) fn call(&self, server: &str, failure: Option<Failure>, took: Duration) {
        let labels = ServerCallLabels {
            server: server.to_owned(),
            outcome: failure.map_or("ok", Failure::as_str),
        };
        self.call_seconds
            .get_or_create(&labels)
            .observe(took.as_secs_f64());
    }

    /// Sets the number of a server's tools.
    pub(crate) fn set_tools(&self, server: &str, tools: usize) {
        let server = server.to_owned();
        let gauge = self.tools.get_or_create(&ServerLabels { server });
        gauge.set(i64::try_from(tools).unwrap_or(i64::MAX));
    }

    /// Sets the numbers of all tools that are left out, one pair of server and reason for each tool.
    pub(crate) fn set_left_out<'t>(&self, tools: impl Iterator<Item = (&'t str, &'static str)>) {
        self.left_out.clear();
        for (server, reason) in tools {
            let server = server.to_owned();
            self.left_out
                .get_or_create(&LeftOutLabels { server, reason })
                .inc();
        }
    }

    /// Counts a change of a server's definitions after its first list.
    pub(crate) fn change(&self, server: &str) {
        let server = server.to_owned();
        self.changes.get_or_create(&ServerLabels { server }).inc();
    }

    /// Counts a message that is no answer to a running request, or whose structured value is wrong.
    pub(crate) fn message(&self, server: &str, kind: &'static str) {
        let server = server.to_owned();
        self.messages.get_or_create(&MessageLabels { server, kind }).inc();
    }

    pub(super) fn register(&self, all: &mut Registry) {
        all.register(
            "mcp_servers",
            "MCP servers by state: 1 for the state of a server",
            self.servers.clone(),
        );
        all.register(
            "mcp_starts",
            "Starts of MCP servers by result",
            self.starts.clone(),
        );
        all.register(
            "mcp_call_seconds",
            "Duration of calls of MCP servers by outcome",
            self.call_seconds.clone(),
        );
        all.register("mcp_tools", "Offered tools of MCP servers", self.tools.clone());
        all.register(
            "mcp_tools_left_out",
            "Tools of MCP servers that are not offered, by reason",
            self.left_out.clone(),
        );
        all.register(
            "mcp_definitions_changed",
            "Changes of the tools of MCP servers after their first lists",
            self.changes.clone(),
        );
        all.register(
            "mcp_messages",
            "Messages of MCP servers that answer no running request, or whose structured value is wrong, by kind",
            self.messages.clone(),
        );
    }
}
