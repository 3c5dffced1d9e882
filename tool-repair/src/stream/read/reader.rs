//! [`Reader`]: reads the calls of a stream of any dialect.

use super::dialect::Dialect;
use crate::format_fixing::FormatFixing;
use crate::stream::anthropic::Anthropic;
use crate::stream::call::state::{StreamLimits, StreamState};
use crate::stream::call::step::{EventContext, RawEvent, Step};
use crate::stream::chat::Chat;
use crate::stream::responses::Responses;

/// Assigns each piece of a stream to its call, and decides which arguments can be sent.
#[derive(Debug)]
pub(crate) struct Reader {
    calls: Calls,
    pub(crate) state: StreamState,
}

#[derive(Debug)]
enum Calls {
    Chat(Chat),
    Responses(Responses),
    Anthropic(Anthropic),
}

impl Reader {
    pub(crate) fn new(dialect: Dialect, fixing: FormatFixing, limits: StreamLimits) -> Self {
        let calls = match dialect {
            Dialect::ChatCompletions => Calls::Chat(Chat::default()),
            Dialect::Responses => Calls::Responses(Responses::default()),
            Dialect::Anthropic => Calls::Anthropic(Anthropic::default()),
        };
        Self {
            calls,
            state: StreamState::new(fixing, limits),
        }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        match self.calls {
            Calls::Chat(_) => Dialect::ChatCompletions,
            Calls::Responses(_) => Dialect::Responses,
            Calls::Anthropic(_) => Dialect::Anthropic,
        }
    }

    /// Returns whether an event may concern calls. Other events need not be read.
    pub(crate) fn concerns(&self, raw: &[u8]) -> bool {
        match &self.calls {
            Calls::Chat(calls) => calls.concerns(raw),
            Calls::Responses(calls) => calls.concerns(raw),
            Calls::Anthropic(calls) => calls.concerns(raw),
        }
    }

    /// Returns whether the dialect ends its streams with `[DONE]`.
    pub(crate) fn has_done(&self) -> bool {
        matches!(self.calls, Calls::Chat(_))
    }

    /// Returns the JSON key of a piece of arguments.
    pub(crate) fn key(&self) -> &'static str {
        match self.calls {
            Calls::Chat(_) | Calls::Responses(_) => "arguments",
            Calls::Anthropic(_) => "partial_json",
        }
    }

    /// Reads an event of `size` bytes. Returns whether the event belongs to the dialect.
    pub(crate) fn read(&mut self, event: RawEvent<'_>, size: usize, steps: &mut Vec<Step>) -> bool {
        let mut context = EventContext {
            state: &mut self.state,
            steps,
            size,
        };
        match &mut self.calls {
            Calls::Chat(calls) => calls.on_event(event, &mut context),
            Calls::Responses(calls) => calls.on_event(event, &mut context),
            Calls::Anthropic(calls) => calls.on_event(event, &mut context),
        }
    }

    /// Ends all calls: as cut off with `cut`, otherwise as complete.
    pub(crate) fn end(&mut self, cut: bool, steps: &mut Vec<Step>) {
        let mut context = EventContext {
            state: &mut self.state,
            steps,
            size: 0,
        };
        match &mut self.calls {
            Calls::Chat(calls) => calls.end(cut, &mut context),
            Calls::Responses(calls) => calls.end(cut, &mut context),
            Calls::Anthropic(calls) => calls.end(cut, &mut context),
        }
    }

    /// Ends all calls of a stream that cannot be read.
    pub(crate) fn bail_out(&mut self, reason: &str, steps: &mut Vec<Step>) {
        let mut context = EventContext {
            state: &mut self.state,
            steps,
            size: 0,
        };
        match &mut self.calls {
            Calls::Chat(calls) => calls.bail_out(reason, &mut context),
            Calls::Responses(calls) => calls.bail_out(reason, &mut context),
            Calls::Anthropic(calls) => calls.bail_out(reason, &mut context),
        }
    }
}
