//! A block in a stream of Anthropic's Messages that is a call.

use crate::stream::call::outcome::{Ending, Outcome};
use crate::stream::call::step::{Address, EventContext, Step};
use crate::stream::call::{Call, Position};

#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) index: String,
    /// Index of the last piece, if it differs from `index`.
    pub(crate) changed_index: Option<String>,
    pub(crate) call: Call,
    pub(crate) stop: BlockEnd,
}

/// Progress of a block's end.
#[derive(Debug)]
pub(crate) enum BlockEnd {
    /// The `content_block_stop` was not received.
    Open,
    /// The `content_block_stop` was received and sent. Only a report of the stream that the arguments were cut off can
    /// change the outcome.
    Sent(Box<Outcome>),
    /// The `content_block_stop` is held, and so are the following events that must not overtake it. The number is the
    /// size of these events. The next events decide whether the arguments are repaired.
    Held(usize),
}

impl Block {
    pub(crate) fn has(&self, index: &str) -> bool {
        self.index == index || self.changed_index.as_deref() == Some(index)
    }

    pub(crate) fn is_open_as(&self, index: &str, id: Option<&str>) -> bool {
        matches!(self.stop, BlockEnd::Open) && self.index == index && self.call.id.as_deref() == id
    }

    /// Handles a repeated `content_block_start` of the block. Returns whether the arguments are complete. Incomplete
    /// arguments pass unchanged.
    pub(crate) fn conclude(&mut self, context: &mut EventContext<'_>) -> bool {
        let (rest, complete) = self.call.finalize_or_bail_out(context.state);
        self.release(rest, context);
        complete
    }

    pub(crate) fn bail_out(mut self, reason: &str, context: &mut EventContext<'_>) {
        let rest = self.call.bail_out(reason.to_owned(), context.state);
        self.release(rest, context);
        self.end(false, context);
    }

    /// Ends the block, and sends held arguments, then the held events.
    pub(crate) fn end(mut self, cut: bool, context: &mut EventContext<'_>) {
        let stop = std::mem::replace(&mut self.stop, BlockEnd::Open);
        let held = match stop {
            BlockEnd::Held(size) => Some(size),
            _ => None,
        };
        let (outcome, is_sent) = match stop {
            BlockEnd::Sent(outcome) if cut => (Some(outcome.cut_off()), true),
            BlockEnd::Sent(outcome) => (Some(*outcome), true),
            BlockEnd::Open | BlockEnd::Held(_) => (self.call.end(cut, context.state), false),
        };
        let ending = Ending::from(outcome.as_ref());
        if let Some(mut outcome) = outcome {
            let rest = std::mem::take(&mut outcome.rest);
            let message = self.record(outcome, context);
            if is_sent {
                return self.call.report_end(ending, context);
            }
            if let Some(message) = message {
                return context.fail(self.call.serial, message);
            }
            self.release(rest, context);
        }
        if let Some(size) = held {
            let (call, status) = (self.call.serial, None);
            context.state.held -= size;
            context.steps.push(Step::SendHeldEvents { call, status });
        }
        self.call.report_end(ending, context);
    }

    fn record(&self, outcome: Outcome, context: &mut EventContext<'_>) -> Option<String> {
        let position = Position {
            choice: None,
            index: self.index.parse().ok(),
        };
        self.call.record(outcome, position, context.state)
    }

    /// Releases held arguments.
    pub(crate) fn release(&self, rest: String, context: &mut EventContext<'_>) {
        context.release(self.call.serial, || Address::Anthropic, rest);
    }
}
