//! Counters in Prometheus' text format.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::session::recognize::Found;

/// What the gateway counts. Nothing of what was said is in it.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    minted: AtomicU64,
    key: AtomicU64,
    chain: AtomicU64,
    new: AtomicU64,
    pub(super) turns_passed_through: AtomicU64,
    pub(super) turns_finished: AtomicU64,
    pub(super) turns_suspended: AtomicU64,
    pub(super) turns_failed: AtomicU64,
    pub(super) turns_joined: AtomicU64,
    pub(super) rounds: AtomicU64,
    pub(super) calls: AtomicU64,
    pub(super) thinking_refused: AtomicU64,
    pub(super) histories_replayed: AtomicU64,
    pub(super) store_errors: AtomicU64,
    pub(super) requests_limited: AtomicU64,
}

/// Adds one.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Metrics {
    pub(super) fn recognized(&self, found: Found) {
        count(match found {
            Found::Minted => &self.minted,
            Found::Key => &self.key,
            Found::Chain => &self.chain,
            Found::New => &self.new,
        });
    }

    /// The text for `/metrics`.
    pub(super) fn render(&self) -> String {
        let mut text = String::new();
        let sessions = "tool_gateway_sessions_total";
        let _ = writeln!(
            text,
            "# HELP {sessions} Requests by how their session was found.\n# TYPE {sessions} counter"
        );
        for (found, counter) in [
            (Found::Minted, &self.minted),
            (Found::Key, &self.key),
            (Found::Chain, &self.chain),
            (Found::New, &self.new),
        ] {
            let count = counter.load(Ordering::Relaxed);
            let _ = writeln!(text, "{sessions}{{found=\"{}\"}} {count}", found.as_str());
        }
        for (name, help, counter) in [
            (
                "turns_passed_through",
                "Turns whose bytes were not changed.",
                &self.turns_passed_through,
            ),
            (
                "turns_finished",
                "Turns that ended with an answer.",
                &self.turns_finished,
            ),
            (
                "turns_suspended",
                "Turns that wait for the client's results.",
                &self.turns_suspended,
            ),
            (
                "turns_failed",
                "Turns that ended with an error.",
                &self.turns_failed,
            ),
            (
                "turns_joined",
                "Requests that were answered from a turn of another.",
                &self.turns_joined,
            ),
            (
                "rounds",
                "Requests to the upstream for turns with tools of the gateway.",
                &self.rounds,
            ),
            ("calls", "Calls of the gateway's tools.", &self.calls),
            (
                "thinking_refused",
                "Requests that were repeated without thinking.",
                &self.thinking_refused,
            ),
            (
                "histories_replayed",
                "Requests with a history of which nothing is known, or no longer: it goes up as it was sent.",
                &self.histories_replayed,
            ),
            (
                "store_errors",
                "Failures of the session store.",
                &self.store_errors,
            ),
            (
                "requests_limited",
                "Requests over a limit of their client.",
                &self.requests_limited,
            ),
        ] {
            let name = format!("tool_gateway_{name}_total");
            let count = counter.load(Ordering::Relaxed);
            let _ = writeln!(
                text,
                "# HELP {name} {help}\n# TYPE {name} counter\n{name} {count}"
            );
        }
        text
    }
}
