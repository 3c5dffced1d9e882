//! [`Reader`]: the calls of a stream of any dialect.

use super::dialect::Dialect;
use crate::format_fixing::FormatFixing;
use crate::stream::anthropic::Anthropic;
use crate::stream::call::state::{StreamLimits, StreamState};
use crate::stream::call::step::{Incoming, Reading, Step};
use crate::stream::chat::Chat;
use crate::stream::responses::Responses;

/// Assigns each piece of a stream to its call, and decides which of its arguments can be sent.
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

    /// Returns whether an event may concern calls; no other event has to be read.
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

    /// Returns the key of a piece of arguments.
    pub(crate) fn key(&self) -> &'static str {
        match self.calls {
            Calls::Chat(_) | Calls::Responses(_) => "arguments",
            Calls::Anthropic(_) => "partial_json",
        }
    }

    /// Reads an event of this size, and returns whether it belongs to the dialect.
    pub(crate) fn read(&mut self, event: Incoming<'_>, size: usize, steps: &mut Vec<Step>) -> bool {
        let mut reading = Reading {
            state: &mut self.state,
            steps,
            size,
        };
        match &mut self.calls {
            Calls::Chat(calls) => calls.event(event, &mut reading),
            Calls::Responses(calls) => calls.event(event, &mut reading),
            Calls::Anthropic(calls) => calls.event(event, &mut reading),
        }
    }

    /// Ends all calls, as complete or as cut off.
    pub(crate) fn end(&mut self, cut: bool, steps: &mut Vec<Step>) {
        let mut reading = Reading {
            state: &mut self.state,
            steps,
            size: 0,
        };
        match &mut self.calls {
            Calls::Chat(calls) => calls.end(cut, &mut reading),
            Calls::Responses(calls) => calls.end(cut, &mut reading),
            Calls::Anthropic(calls) => calls.end(cut, &mut reading),
        }
    }

    /// Ends all calls of a stream that cannot be read.
    pub(crate) fn give_up(&mut self, reason: &str, steps: &mut Vec<Step>) {
        let mut reading = Reading {
            state: &mut self.state,
            steps,
            size: 0,
        };
        match &mut self.calls {
            Calls::Chat(calls) => calls.give_up(reason, &mut reading),
            Calls::Responses(calls) => calls.give_up(reason, &mut reading),
            Calls::Anthropic(calls) => calls.give_up(reason, &mut reading),
        }
    }
}
