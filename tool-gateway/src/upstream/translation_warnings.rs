//! [`TranslationWarnings`]: counters of the parts that a translating upstream omitted or changed.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

/// Counters of the parts of requests and responses that a translating upstream omitted or changed, by warning code. Clones share the
/// counters.
///
/// ```
/// use tool_gateway::upstream::TranslationWarnings;
///
/// let warnings = TranslationWarnings::default();
/// warnings.add("http://localhost:8000", "qwen3-coder", "top_k");
/// warnings.add("http://localhost:8000", "qwen3-coder", "top_k");
/// assert_eq!(warnings.count("top_k"), 2);
/// ```
#[derive(Debug, Clone, Default)]
pub struct TranslationWarnings {
    pub(crate) counters: Family<WarningLabels, Counter>,
    /// Number of thinking blocks that were left out of upstream requests, by reason.
    pub(crate) dropped_thinking: Family<DroppedLabels, Counter>,
    /// Pairs of model and code that were logged.
    logged: Arc<Mutex<HashSet<(String, &'static str)>>>,
    /// Number of token estimates, by the estimated value.
    pub(crate) estimates: Family<EstimateLabels, Counter>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct WarningLabels {
    code: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct EstimateLabels {
    of: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct DroppedLabels {
    reason: &'static str,
}

/// Maximum number of stored pairs of model and code. The number is limited because clients choose the names of models.
const MAX_LOGGED: usize = 10_000;

impl TranslationWarnings {
    /// Increments the counter of a warning code, and logs the first warning of each model and code. The code is a metric label: a fixed
    /// name, never content of a message.
    pub fn add(&self, upstream: &str, model: &str, code: &'static str) {
        self.add_with(model, code, || {
            tracing::warn!(
                upstream,
                model,
                code,
                "a part of the request is not supported by the upstream"
            );
        });
    }

    /// Counts a warning, and logs the first one of each model and code.
    pub(crate) fn add_with(&self, model: &str, code: &'static str, log: impl FnOnce()) {
        self.counters.get_or_create(&WarningLabels { code }).inc();
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.len() < MAX_LOGGED && logged.insert((model.to_owned(), code)) {
            drop(logged);
            log();
        }
    }

    /// Counts a token estimate. `of` is the estimated value: the `usage` of a response, or the result of `count_tokens`.
    pub(crate) fn add_estimate(&self, of: &'static str) {
        self.estimates.get_or_create(&EstimateLabels { of }).inc();
    }

    /// Counts a thinking block that was not sent.
    pub(super) fn drop_thinking(&self, reason: &'static str) {
        let counter = self.dropped_thinking.get_or_create(&DroppedLabels { reason });
        counter.inc();
    }

    /// Returns the number of warnings with this code.
    pub fn count(&self, code: &'static str) -> u64 {
        self.counters.get_or_create(&WarningLabels { code }).get()
    }
}
