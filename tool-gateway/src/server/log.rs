//! One line of the log for each turn, without anything that was said.

use std::time::Duration;

use serde_json::{Map, Value};

use super::metrics::Metrics;
use crate::session::recognize::Found;
use crate::session::record::SessionId;

/// What the log says of a turn.
#[derive(Debug)]
pub(super) struct TurnLine<'t> {
    pub(super) session: &'t SessionId,
    pub(super) found: Found,
    pub(super) status: u16,
    /// How often the upstream was asked.
    pub(super) rounds: usize,
    /// The tools that the gateway ran.
    pub(super) tools: &'t [String],
    pub(super) usage: &'t Map<String, Value>,
    pub(super) took: Duration,
}

impl TurnLine<'_> {
    pub(super) fn write(&self, metrics: &Metrics) {
        metrics.tokens(self.usage);
        let tokens = |field: &str| self.usage.get(field).and_then(Value::as_u64).unwrap_or_default();
        // It has all that its span says.
        tracing::info!(
            parent: None,
            session = %self.session,
            found = self.found.as_str(),
            status = self.status,
            rounds = self.rounds,
            tools = self.tools.join(","),
            input_tokens = tokens("input_tokens"),
            output_tokens = tokens("output_tokens"),
            milliseconds = u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
            "turn",
        );
    }
}
