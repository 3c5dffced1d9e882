//! Log lines for each turn and for each response with repaired calls, without contents of messages.

use std::time::{Duration, Instant};

use axum::http::StatusCode;
use tool_runtime::repair::Status;
use tool_runtime::repair::stream::{Dialect, RepairRecord};

use super::metrics::Metrics;
use crate::session::known_history::Found;
use crate::session::record::SessionId;
use crate::wire::usage::TokenCounts;

/// The log line of a turn.
#[derive(Debug)]
pub(crate) struct TurnLine<'t> {
    pub(crate) session: &'t SessionId,
    pub(crate) found: Found,
    pub(crate) status: u16,
    /// Number of requests to the upstream.
    pub(crate) rounds: usize,
    /// Names of the tools that the gateway ran.
    pub(crate) tools: &'t [String],
    pub(crate) tokens: TokenCounts,
    pub(crate) took: Duration,
}

impl TurnLine<'_> {
    pub(crate) fn write(&self, metrics: &Metrics) {
        metrics.tokens(&self.tokens);
        // `parent: None`, since the line has all fields of the span already.
        tracing::info!(
            parent: None,
            session = self.session.as_str(),
            found = self.found.as_str(),
            status = self.status,
            rounds = self.rounds,
            tools = self.tools.join(","),
            input_tokens = self.tokens.input.unwrap_or_default(),
            output_tokens = self.tokens.output.unwrap_or_default(),
            milliseconds = u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
            "turn",
        );
    }
}

/// Log line of a response whose calls are repaired. Written after the response was sent or the client has disconnected.
#[derive(Debug)]
pub(crate) struct RepairLine {
    metrics: Metrics,
    api: Dialect,
    began: Instant,
    pub(crate) status: StatusCode,
    /// Number of calls, with and without repair.
    pub(crate) calls: u64,
    repaired: u64,
    truncated: u64,
    refused: u64,
}

impl RepairLine {
    pub(crate) fn new(metrics: Metrics, api: Dialect, began: Instant) -> Self {
        Self {
            metrics,
            api,
            began,
            status: StatusCode::OK,
            calls: 0,
            repaired: 0,
            truncated: 0,
            refused: 0,
        }
    }

    /// Counts the calls whose arguments were repaired.
    pub(crate) fn count(&mut self, records: &[RepairRecord]) {
        for record in records {
            let (outcome, count) = match record.status {
                Status::Truncated => ("truncated", &mut self.truncated),
                Status::Refused => ("refused", &mut self.refused),
                // Arguments that were an object instead of a string count as repaired, too.
                _ => ("repaired", &mut self.repaired),
            };
            *count += 1;
            self.metrics.repair(outcome);
        }
    }
}

impl Drop for RepairLine {
    fn drop(&mut self) {
        tracing::info!(
            parent: None,
            api = self.api.as_str(),
            status = self.status.as_u16(),
            calls = self.calls,
            repaired = self.repaired,
            truncated = self.truncated,
            refused = self.refused,
            milliseconds = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            "response",
        );
    }
}
