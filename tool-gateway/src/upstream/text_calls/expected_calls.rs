//! [`ExpectedCalls`]: the calls that a text may have, by the request.

use std::sync::Arc;

use tool_runtime::repair::calls::{CallLimits, CallScanner, Format, Formats, Recovered, RecoveredCall};

use super::counters::TextCallCounters;
use super::request_tools::RequestTools;
use super::rules::TextCallRules;
use crate::wire::object::Object;
use crate::wire::walk;

/// Calls that the texts of a response may have. Clones share the tools.
#[derive(Debug, Clone)]
pub(crate) struct ExpectedCalls {
    tools: Arc<RequestTools>,
    formats: Formats,
    limits: CallLimits,
    /// Whether the message may have only one call.
    is_single: bool,
    /// Name of the model at the server.
    model: String,
    counters: TextCallCounters,
}

impl ExpectedCalls {
    /// Reads a request of the Messages API, which is JSON. Returns `None` if the request expects no calls.
    pub(super) fn from_messages(
        body: &str,
        model: &str,
        rules: &TextCallRules,
        counters: &TextCallCounters,
    ) -> Option<Self> {
        let request = Object::from_json(body)?;
        let [tools, choice, config, format] =
            request.get_all(["tools", "tool_choice", "output_config", "output_format"]);
        let choice = choice.and_then(Object::from_json).unwrap_or_default();
        if choice.is("type", "none") {
            return None;
        }
        let config = config.and_then(Object::from_json).unwrap_or_default();
        let is_set = |value: Option<&str>| value.is_some_and(|value| value != "null");
        Self {
            tools: Arc::new(RequestTools::from_messages(tools?)),
            formats: rules.formats,
            limits: rules.limits(),
            is_single: choice.get("disable_parallel_tool_use") == Some("true"),
            model: model.to_owned(),
            counters: counters.clone(),
        }
        .with_output_format(is_set(config.get("format")) || is_set(format))
    }

    /// Reads a request of Chat Completions, which is JSON. Returns `None` if the request expects no calls.
    pub(super) fn from_chat(body: &str, rules: &TextCallRules, counters: &TextCallCounters) -> Option<Self> {
        let request = Object::from_json(body)?;
        let [tools, choice, parallel, format, model] = request.get_all([
            "tools",
            "tool_choice",
            "parallel_tool_calls",
            "response_format",
            "model",
        ]);
        if choice == Some("\"none\"") {
            return None;
        }
        let model = model.and_then(walk::string).unwrap_or_default();
        if !rules.apply_to(&model) {
            return None;
        }
        let format = format.and_then(Object::from_json);
        Self {
            tools: Arc::new(RequestTools::from_chat(tools?)),
            formats: rules.formats,
            limits: rules.limits(),
            is_single: parallel == Some("false"),
            model: model.into_owned(),
            counters: counters.clone(),
        }
        .with_output_format(format.is_some_and(|format| !format.is("type", "text")))
    }

    /// Removes the formats without tags if the request asks for a text in a format, such as JSON. Returns `None` if no call can be found.
    fn with_output_format(mut self, is_set: bool) -> Option<Self> {
        if is_set {
            self.formats = self.formats.without(Format::Json).without(Format::Python);
        }
        (!self.tools.is_empty() && !self.formats.is_empty()).then_some(self)
    }

    /// Creates a scanner for a text.
    pub(crate) fn scanner(&self) -> TextScanner {
        CallScanner::with_limits(Arc::clone(&self.tools), self.formats, self.limits)
    }

    /// Counts the result of a scan. Returns its calls, of which there may be only one.
    pub(crate) fn accepted(&self, recovered: &mut Recovered) -> Vec<RecoveredCall> {
        if let Some(reason) = recovered.reason {
            self.counters.refused(reason);
        }
        let mut calls = std::mem::take(&mut recovered.calls);
        let Some(format) = recovered.format else {
            return Vec::new();
        };
        if self.is_single && calls.len() > 1 {
            self.counters.dropped(&self.model, calls.len() - 1, format);
            calls.truncate(1);
        }
        for call in &calls {
            self.counters.recovered(&self.model, &call.name, format);
        }
        calls
    }
}

/// Scanner of a text for calls of a request's tools.
pub(crate) type TextScanner = CallScanner<Arc<RequestTools>>;
