//! [`TextCallCounters`]: counters of calls in text.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use tool_runtime::repair::calls::{Declared, Format, Formats, ParameterKind, TextReason, recover};

use crate::off_worker::in_place;
use crate::wire::block::Block;

/// Counters of calls in text. Clones share the counters.
#[derive(Debug, Clone, Default)]
pub(crate) struct TextCallCounters {
    pub(crate) family: Family<TextCallLabels, Counter>,
    /// Models whose calls in text are in the log, though no calls are recovered.
    warned: Arc<Mutex<HashSet<String>>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct TextCallLabels {
    format: &'static str,
    outcome: &'static str,
}

/// Label of a format that is not known.
const NO_FORMAT: &str = "none";

/// Maximum number of models that are remembered, since clients choose the names of models.
const MAX_WARNED: usize = 10_000;

impl TextCallCounters {
    /// Counts and logs a recovered call.
    pub(crate) fn recovered(&self, model: &str, tool: &str, format: Format) {
        let format = format.as_str();
        tracing::info!(model, tool, format, "a call was recovered from text");
        self.count(format, "recovered");
    }

    /// Counts calls that leave a message because only one call was allowed.
    pub(crate) fn dropped(&self, model: &str, calls: usize, format: Format) {
        let format = format.as_str();
        tracing::warn!(
            model,
            calls,
            format,
            "further calls of a text leave it: only one was allowed"
        );
        let calls = u64::try_from(calls).unwrap_or(u64::MAX);
        let labels = TextCallLabels {
            format,
            outcome: "dropped",
        };
        self.family.get_or_create(&labels).inc_by(calls);
    }

    /// Counts a text that stays text.
    pub(crate) fn refused(&self, reason: TextReason) {
        self.count(NO_FORMAT, reason.as_str());
    }

    /// Warns of a message whose last text would be a call, once for each model. The calls of such a message are not recovered.
    pub(crate) fn check_off(&self, model: &str, blocks: &[Block]) {
        let Some(text) = blocks.last().and_then(possible_call) else {
            return;
        };
        let formats = [Format::Tags, Format::Json].into_iter().collect::<Formats>();
        let recovered = in_place(text.len(), || recover(&text, AnyTool, formats));
        let Some(format) = recovered.format else {
            return;
        };
        self.count(format.as_str(), "off");
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.len() < MAX_WARNED && warned.insert(model.to_owned()) {
            drop(warned);
            tracing::warn!(
                model,
                "the model {model} writes tool calls as text; set [text_calls] formats"
            );
        }
    }

    #[cfg(test)]
    pub(super) fn get(&self, format: &'static str, outcome: &'static str) -> u64 {
        self.family
            .get_or_create(&TextCallLabels { format, outcome })
            .get()
    }

    fn count(&self, format: &'static str, outcome: &'static str) {
        self.family
            .get_or_create(&TextCallLabels { format, outcome })
            .inc();
    }
}

/// Returns the text of a text block that may end with a call. Few other texts end with such a character.
fn possible_call(block: &Block) -> Option<String> {
    let mut end = block.as_str().strip_suffix("\"}")?;
    while let Some(rest) = ["\\n", " ", "\\t", "\\r"]
        .iter()
        .find_map(|space| end.strip_suffix(space))
    {
        end = rest;
    }
    let is_possible = end.ends_with(['>', '}', ']', '`']);
    let object = block.object();
    (is_possible && object.is("type", "text")).then(|| object.string("text"))?
}

/// Declares every name.
struct AnyTool;

impl Declared for AnyTool {
    fn is_declared(&self, _: &str) -> bool {
        true
    }

    fn parameter(&self, _: &str, _: &str) -> ParameterKind {
        ParameterKind::Other
    }
}
