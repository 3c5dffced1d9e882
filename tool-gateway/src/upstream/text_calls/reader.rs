//! [`TextCallReader`]: rules and counters of the recovery of calls from text.

use super::counters::TextCallCounters;
use super::expected_calls::ExpectedCalls;
use super::rules::TextCallRules;
use crate::off_worker::in_place;

/// Rules and counters of the recovery of calls from text. Clones share the counters.
#[derive(Debug, Clone, Default)]
pub struct TextCallReader {
    pub(crate) rules: TextCallRules,
    pub(crate) counters: TextCallCounters,
}

impl TextCallReader {
    /// Creates a reader with these rules.
    pub(crate) fn new(rules: TextCallRules) -> Self {
        Self {
            rules,
            counters: TextCallCounters::default(),
        }
    }

    /// Returns the calls that the response to a request of the Messages API may have as text. `model` is the served one.
    pub(crate) fn expected_in_message(&self, body: &str, model: &str) -> Option<ExpectedCalls> {
        if !self.rules.apply_to(model) {
            return None;
        }
        in_place(body.len(), || {
            ExpectedCalls::from_messages(body, model, &self.rules, &self.counters)
        })
    }

    /// Returns the calls that the response to a request of Chat Completions may have as text.
    pub(crate) fn expected_in_completion(&self, body: &[u8]) -> Option<ExpectedCalls> {
        if !self.rules.is_on() {
            return None;
        }
        let body = std::str::from_utf8(body).ok()?;
        in_place(body.len(), || {
            serde_json::from_str::<serde::de::IgnoredAny>(body).ok()?;
            ExpectedCalls::from_chat(body, &self.rules, &self.counters)
        })
    }
}
