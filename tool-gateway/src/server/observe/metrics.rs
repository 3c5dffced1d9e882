//! Metrics of the gateway for Prometheus, without contents of messages. Names and labels are in `tool-gateway/README.md`.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use tool_runtime::result::Failure;

use super::known_metric::KnownMetric;
#[cfg(feature = "mcp")]
use super::mcp_metrics::McpMetrics;
use crate::session::known_history::Found;
use crate::session::store::StoreSize;
use crate::turn::client_calls::ClientCallState;
use crate::upstream::TranslationWarnings;
use crate::upstream::text_calls::counters::TextCallCounters;
use crate::wire::usage::TokenCounts;

/// Counters of the gateway. Clones share the counters.
#[derive(Debug, Clone)]
pub(crate) struct Metrics {
    requests: Family<RequestLabels, Counter>,
    first_byte_seconds: Family<RouteLabels, Histogram, fn() -> Histogram>,
    sessions: Family<FoundLabels, Counter>,
    turns: Family<EndLabels, Counter>,
    tool_calls: Family<CallLabels, Counter>,
    tokens: Family<TokenLabels, Counter>,
    repairs: Family<RepairLabels, Counter>,
    /// Counters of a translating upstream.
    pub(crate) translation_warnings: Option<TranslationWarnings>,
    store_seconds: Family<OperationLabels, Histogram, fn() -> Histogram>,
    store_turns: Gauge,
    store_bytes: Gauge,
    /// Counters of MCP servers, if there are any.
    #[cfg(feature = "mcp")]
    pub(crate) mcp: Option<McpMetrics>,
    pub(crate) client_calls: ClientCallState,
    pub(crate) text_calls: TextCallCounters,
    pub(crate) rounds: Counter,
    pub(crate) thinking_refused: Counter,
    pub(crate) histories_replayed: Counter,
    pub(crate) store_errors: Counter,
    pub(crate) requests_limited: Counter,
    pub(crate) unrecorded_effects: Counter,
    /// Logs of requests that could not be read, among the damaged records.
    pub(crate) unreadable_logs: Counter,
    known: Arc<KnownMetrics>,
}

/// Metrics of a turn by the values of their labels, in the order of the enums and of the fields of a usage.
#[derive(Debug, Default)]
struct KnownMetrics {
    sessions: [KnownMetric<Counter>; 6],
    turns: [KnownMetric<Counter>; 5],
    tokens: [KnownMetric<Counter>; 4],
}

/// Metrics of the requests to a route.
#[derive(Debug, Default)]
pub(crate) struct RouteMetrics {
    /// Requests with the status 200.
    ok: KnownMetric<Counter>,
    first_byte_seconds: KnownMetric<Histogram>,
}

/// An operation of the session store, with its metric.
#[derive(Debug)]
pub(crate) struct StoreOperation {
    name: &'static str,
    seconds: KnownMetric<Histogram>,
}

impl StoreOperation {
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            seconds: KnownMetric::default(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FoundLabels {
    found: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EndLabels {
    end: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    tool: String,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TokenLabels {
    kind: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RepairLabels {
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OperationLabels {
    operation: &'static str,
}

/// End of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnEnd {
    PassedThrough,
    Finished,
    Suspended,
    Failed,
    /// The request joined the turn of an equal request.
    Joined,
}

impl TurnEnd {
    const fn as_str(self) -> &'static str {
        match self {
            Self::PassedThrough => "passed_through",
            Self::Finished => "finished",
            Self::Suspended => "suspended",
            Self::Failed => "failed",
            Self::Joined => "joined",
        }
    }
}

/// Creates a histogram with buckets from 1 ms (overhead of the gateway) to 10 minutes (slow models).
fn first_byte_buckets() -> Histogram {
    Histogram::new([
        0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0, 600.0,
    ])
}

fn store_buckets() -> Histogram {
    Histogram::new([0.000_01, 0.000_1, 0.001, 0.01, 0.1, 1.0])
}

impl Metrics {
    pub(crate) fn new() -> Self {
        Self {
            requests: Family::default(),
            first_byte_seconds: Family::new_with_constructor(first_byte_buckets),
            sessions: Family::default(),
            turns: Family::default(),
            tool_calls: Family::default(),
            tokens: Family::default(),
            repairs: Family::default(),
            translation_warnings: None,
            store_seconds: Family::new_with_constructor(store_buckets),
            store_turns: Gauge::default(),
            store_bytes: Gauge::default(),
            #[cfg(feature = "mcp")]
            mcp: None,
            client_calls: ClientCallState::default(),
            text_calls: TextCallCounters::default(),
            rounds: Counter::default(),
            thinking_refused: Counter::default(),
            histories_replayed: Counter::default(),
            store_errors: Counter::default(),
            requests_limited: Counter::default(),
            unrecorded_effects: Counter::default(),
            unreadable_logs: Counter::default(),
            known: Arc::default(),
        }
    }

    /// Counts a request to a route when its response begins.
    pub(crate) fn answered(&self, route: &'static str, known: &RouteMetrics, status: u16, after: Duration) {
        let labels = RequestLabels { route, status };
        if status == 200 {
            known.ok.get(&self.requests, &labels).inc();
        } else {
            self.requests.get_or_create(&labels).inc();
        }
        let seconds = &known.first_byte_seconds;
        let seconds = seconds.get(&self.first_byte_seconds, &RouteLabels { route });
        seconds.observe(after.as_secs_f64());
    }

    pub(crate) fn recognized(&self, found: Found) {
        let [minted, key, chain, history, new, lost] = &self.known.sessions;
        let known = match found {
            Found::Minted => minted,
            Found::Key => key,
            Found::Chain => chain,
            Found::History => history,
            Found::New => new,
            Found::Lost => lost,
        };
        let found = found.as_str();
        known.get(&self.sessions, &FoundLabels { found }).inc();
    }

    pub(crate) fn turn(&self, end: TurnEnd) {
        let [passed_through, finished, suspended, failed, joined] = &self.known.turns;
        let known = match end {
            TurnEnd::PassedThrough => passed_through,
            TurnEnd::Finished => finished,
            TurnEnd::Suspended => suspended,
            TurnEnd::Failed => failed,
            TurnEnd::Joined => joined,
        };
        let end = end.as_str();
        known.get(&self.turns, &EndLabels { end }).inc();
    }

    /// Counts an internal call; `failure` is `None` if the call succeeded.
    pub(crate) fn tool_call(&self, tool: &str, failure: Option<Failure>) {
        let labels = CallLabels {
            tool: tool.to_owned(),
            outcome: failure.map_or("ok", Failure::as_str),
        };
        self.tool_calls.get_or_create(&labels).inc();
    }

    /// Counts the tokens of a turn.
    pub(crate) fn tokens(&self, counts: &TokenCounts) {
        let kinds = [
            (counts.input, "input"),
            (counts.output, "output"),
            (counts.cache_read, "cache_read"),
            (counts.cache_creation, "cache_creation"),
        ];
        for ((tokens, kind), known) in kinds.into_iter().zip(&self.known.tokens) {
            if let Some(tokens) = tokens {
                known.get(&self.tokens, &TokenLabels { kind }).inc_by(tokens);
            }
        }
    }

    /// Counts a call that is forwarded to the client, by the outcome of the repair of its arguments.
    pub(crate) fn repair(&self, outcome: &'static str) {
        self.repairs.get_or_create(&RepairLabels { outcome }).inc();
    }

    pub(crate) fn store(&self, operation: &StoreOperation, took: Duration) {
        let labels = OperationLabels {
            operation: operation.name,
        };
        let seconds = operation.seconds.get(&self.store_seconds, &labels);
        seconds.observe(took.as_secs_f64());
    }

    /// Returns the metrics in the `OpenMetrics` text format.
    pub(crate) fn render(&self, size: Option<StoreSize>, damaged_records: u64) -> String {
        if let Some(StoreSize { turns, bytes }) = size {
            self.store_turns.set(i64::try_from(turns).unwrap_or(i64::MAX));
            self.store_bytes.set(i64::try_from(bytes).unwrap_or(i64::MAX));
        }
        let mut registry = self.registry(size.is_some());
        registry.register(
            "store_damaged_records",
            "Records of the session store that could not be read",
            ConstCounter::new(damaged_records + self.unreadable_logs.get()),
        );
        #[cfg(feature = "mcp")]
        if let Some(mcp) = &self.mcp {
            mcp.register(&mut registry);
        }
        let mut text = String::new();
        // Writes to a `String` do not fail.
        let _ = text::encode(&mut text, &registry);
        text
    }

    fn registry(&self, has_size: bool) -> Registry {
        let mut all = Registry::with_prefix("tool_gateway");
        all.register("requests", "Requests by route and status", self.requests.clone());
        all.register(
            "first_byte_seconds",
            "Time from a request to the first byte of its response",
            self.first_byte_seconds.clone(),
        );
        all.register(
            "sessions",
            "Requests by result of the session lookup",
            self.sessions.clone(),
        );
        all.register("turns", "Turns by outcome", self.turns.clone());
        all.register(
            "rounds",
            "Requests to the upstream for turns with tools of the gateway",
            self.rounds.clone(),
        );
        all.register(
            "tool_calls",
            "Calls of the gateway's tools by outcome",
            self.tool_calls.clone(),
        );
        all.register("tokens", "Tokens as counted by the upstream", self.tokens.clone());
        all.register(
            "repairs",
            "Calls whose arguments were repaired, truncated or rejected",
            self.repairs.clone(),
        );
        if let Some(warnings) = &self.translation_warnings {
            all.register(
                "translation_warnings",
                "Fields of messages that the translation omitted or changed",
                warnings.counters.clone(),
            );
            all.register(
                "token_estimates",
                "Numbers of tokens that the upstream did not count, by their use",
                warnings.estimates.clone(),
            );
            all.register(
                "thinking_dropped",
                "Thinking blocks that were not sent to the upstream, by reason",
                warnings.dropped_thinking.clone(),
            );
        }
        all.register(
            "broken_calls",
            "Calls of the model that cannot be parsed, by tool and code",
            self.client_calls.broken.clone(),
        );
        all.register(
            "client_coercions",
            "Coercions of arguments and remaining errors against the client's schemas, by code",
            self.client_calls.coercions.clone(),
        );
        all.register(
            "text_calls",
            "Calls in the text of messages by format, recovered or by the reason why they stay text",
            self.text_calls.family.clone(),
        );
        all.register(
            "thinking_refused",
            "Requests repeated without thinking blocks",
            self.thinking_refused.clone(),
        );
        all.register(
            "histories_replayed",
            "Requests whose unknown or expired history was forwarded unchanged",
            self.histories_replayed.clone(),
        );
        all.register(
            "requests_limited",
            "Requests rejected by a limit of their client",
            self.requests_limited.clone(),
        );
        self.register_store(&mut all, has_size);
        all
    }

    fn register_store(&self, all: &mut Registry, has_size: bool) {
        all.register(
            "unrecorded_effects",
            "Results of calls that were not stored, since another gateway had continued the turn",
            self.unrecorded_effects.clone(),
        );
        all.register(
            "store_errors",
            "Errors of the session store",
            self.store_errors.clone(),
        );
        all.register(
            "store_seconds",
            "Duration of session store operations",
            self.store_seconds.clone(),
        );
        if has_size {
            all.register(
                "store_turns",
                "Turns in the session store",
                self.store_turns.clone(),
            );
            all.register(
                "store_bytes",
                "Size of the session store",
                self.store_bytes.clone(),
            );
        }
    }
}
