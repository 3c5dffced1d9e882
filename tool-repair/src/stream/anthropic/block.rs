//! A block in a stream of Anthropic's Messages that is a call.

use crate::stream::call::outcome::{Ending, Outcome};
use crate::stream::call::step::{Address, Reading, Step};
use crate::stream::call::{Call, Position};

#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) index: String,
    /// Index of the last piece, if it differs.
    pub(crate) changed_index: Option<String>,
    pub(crate) call: Call,
    pub(crate) stop: BlockEnd,
}

/// Progress of a block's end.
#[derive(Debug)]
pub(crate) enum BlockEnd {
    /// No `content_block_stop` was received.
    Open,
    /// The `content_block_stop` was received and sent. The outcome is known, unless the stream reports that the
    /// arguments were cut off.
    Left(Box<Outcome>),
    /// The `content_block_stop` was received, and is held with the events that must not overtake it, which have this
    /// size. The next events decide whether the arguments are repaired.
    Kept(usize),
}

impl Block {
    pub(crate) fn has(&self, index: &str) -> bool {
        self.index == index || self.changed_index.as_deref() == Some(index)
    }

    pub(crate) fn is_open_as(&self, index: &str, id: Option<&str>) -> bool {
        matches!(self.stop, BlockEnd::Open) && self.index == index && self.call.id.as_deref() == id
    }

    /// Handles a repeated beginning of the block. Returns whether its arguments are complete; otherwise they pass
    /// unchanged.
    pub(crate) fn conclude(&mut self, reading: &mut Reading<'_>) -> bool {
        let (rest, complete) = self.call.leave_or_pass(reading.state);
        self.release(rest, reading);
        complete
    }

    pub(crate) fn give_up(mut self, reason: &str, reading: &mut Reading<'_>) {
        let rest = self.call.give_up(reason.to_owned(), reading.state);
        self.release(rest, reading);
        self.end(false, reading);
    }

    /// Ends the block, and sends held arguments, then the held events.
    pub(crate) fn end(mut self, cut: bool, reading: &mut Reading<'_>) {
        let stop = std::mem::replace(&mut self.stop, BlockEnd::Open);
        let kept = match stop {
            BlockEnd::Kept(size) => Some(size),
            _ => None,
        };
        let (outcome, has_left) = match stop {
            BlockEnd::Left(outcome) if cut => (Some(outcome.cut_off()), true),
            BlockEnd::Left(outcome) => (Some(*outcome), true),
            BlockEnd::Open | BlockEnd::Kept(_) => (self.call.end(cut, reading.state), false),
        };
        let ending = Ending::from(outcome.as_ref());
        if let Some(mut outcome) = outcome {
            let rest = std::mem::take(&mut outcome.rest);
            let message = self.record(outcome, reading);
            if has_left {
                return self.call.ended(ending, reading);
            }
            if let Some(message) = message {
                return reading.fail(self.call.serial, message);
            }
            self.release(rest, reading);
        }
        if let Some(size) = kept {
            let (call, copies) = (self.call.serial, None);
            reading.state.held -= size;
            reading.steps.push(Step::LetGo { call, copies });
        }
        self.call.ended(ending, reading);
    }

    fn record(&self, outcome: Outcome, reading: &mut Reading<'_>) -> Option<String> {
        let position = Position {
            choice: None,
            index: self.index.parse().ok(),
        };
        self.call.record(outcome, position, reading.state)
    }

    /// Releases held arguments.
    pub(crate) fn release(&self, rest: String, reading: &mut Reading<'_>) {
        reading.release(self.call.serial, || Address::Anthropic, rest);
    }
}
