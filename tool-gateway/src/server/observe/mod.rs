//! Counters, log lines and spans. The entry is [`metrics::Metrics`].

#[cfg(feature = "mcp")]
pub(crate) mod mcp_metrics;
mod known_metric;
pub(crate) mod metrics;
pub(crate) mod audit;
pub(crate) mod counted_calls;
pub(crate) mod timed_store;
pub(crate) mod log;
pub(crate) mod spans;
