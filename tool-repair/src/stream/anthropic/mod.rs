//! Anthropic's Messages: calls are blocks, which are identified by `index` and end with their `content_block_stop`.
//! The `stop_reason` follows in the `message_delta`.

mod event;
mod block;
pub(crate) mod encode;

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use self::block::{Block, BlockEnd};
use self::event::AnthropicEvent;
use crate::stream::call::Call;
use crate::stream::call::outcome::{AFTER_END, Ending, MORE_OF_ANOTHER};
use crate::stream::call::piece::Piece;
use crate::stream::call::step::{Incoming, Reading, Step};
use crate::stream::call::stop_reason::is_cut_off;

/// Open calls in a stream of Anthropic's Messages.
#[derive(Debug, Default)]
pub(crate) struct Anthropic {
    blocks: Vec<Block>,
    /// Indexes of all blocks of any kind that began during or after a call.
    begun: Vec<Begun>,
}

/// The last block with an index.
#[derive(Debug)]
struct Begun {
    index: String,
    is_call: bool,
}

impl Anthropic {
    /// Returns whether an event may concern calls.
    pub(crate) fn concerns(&self, raw: &[u8]) -> bool {
        static CALL: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("tool_use"));
        !self.blocks.is_empty() || CALL.find(raw).is_some()
    }

    /// Reads an event, and returns whether it belongs to this dialect.
    pub(crate) fn event(&mut self, event: Incoming<'_>, reading: &mut Reading<'_>) -> bool {
        let Some(located) = AnthropicEvent::parse(event.text) else {
            return false;
        };
        match located.kind.as_deref().or(event.name).unwrap_or_default() {
            "content_block_start" => self.start(&located, event, reading),
            "content_block_delta" => self.delta(&located, event, reading),
            "content_block_stop" => self.stop(&located, event, reading),
            "message_delta" => self.message_delta(&located, event, reading),
            "error" => self.end(true, reading),
            "message_stop" => self.end(false, reading),
            _ if !event.ended => self.end(false, reading),
            _ => {}
        }
        true
    }

    /// Ends every call, when the stream ends or breaks off.
    pub(crate) fn end(&mut self, cut: bool, reading: &mut Reading<'_>) {
        for block in std::mem::take(&mut self.blocks) {
            block.end(cut, reading);
        }
    }

    /// Stops following the stream; held arguments are sent unchanged.
    pub(crate) fn give_up(&mut self, reason: &str, reading: &mut Reading<'_>) {
        for block in std::mem::take(&mut self.blocks) {
            block.give_up(reason, reading);
        }
    }

    /// Begins a block. Earlier stopped blocks are complete, and so is a block with this index; with the same id, too,
    /// the new block is a repetition.
    fn start(&mut self, located: &AnthropicEvent<'_>, event: Incoming<'_>, reading: &mut Reading<'_>) {
        let index = located.index.unwrap_or_default();
        let is_call = located.block_type.as_deref() == Some("tool_use");
        if let Some(begun) = self.begun.iter_mut().find(|begun| begun.index == index) {
            begun.is_call = is_call;
        } else if self.begun.len() < INDEXES_KEPT {
            let index = index.to_owned();
            self.begun.push(Begun { index, is_call });
        }
        let mut same = self
            .blocks
            .iter_mut()
            .filter(|block| block.is_open_as(index, located.id.as_deref()));
        let again = same.any(|block| !block.conclude(reading));
        let complete = |block: &Block| !matches!(block.stop, BlockEnd::Open) || block.index == index;
        let (complete, others) = std::mem::take(&mut self.blocks).into_iter().partition(complete);
        self.blocks = others;
        let complete: Vec<Block> = complete;
        for block in complete {
            block.end(false, reading);
        }
        if is_call {
            let owned = |text: &Option<Cow<'_, str>>| text.as_deref().map(str::to_owned);
            let name = owned(&located.name).unwrap_or_default();
            let mut call = Call::new(reading.state, owned(&located.id), name);
            call.report(None, reading);
            if again {
                call.pass(MORE_OF_ANOTHER, reading.state);
            }
            self.blocks.push(Block {
                index: index.to_owned(),
                changed_index: None,
                call,
                stop: BlockEnd::Open,
            });
            if self.blocks.len() > reading.state.limits.calls {
                let reason = reading.state.too_many_calls();
                self.give_up(&reason, reading);
                reading.state.lose(reason);
            }
        }
        if !event.ended {
            self.end(false, reading);
        }
    }

    fn delta(&mut self, located: &AnthropicEvent<'_>, event: Incoming<'_>, reading: &mut Reading<'_>) {
        let kept = |block: &Block| matches!(block.stop, BlockEnd::Kept(_));
        let is_kept = |block: &Block| kept(block) && located.index.is_some_and(|index| block.has(index));
        let stray = located.partial_json.is_some() && self.open(located.index).is_none();
        if stray || self.blocks.iter().any(is_kept) {
            let (kept, others) = std::mem::take(&mut self.blocks).into_iter().partition(kept);
            self.blocks = others;
            let kept: Vec<Block> = kept;
            for block in kept {
                block.give_up(AFTER_END, reading);
            }
            let is_other = |begun: &Begun| located.index == Some(&*begun.index) && !begun.is_call;
            let piece = located
                .partial_json
                .as_ref()
                .and_then(|value| Piece::from_value(value.text));
            if piece.is_some_and(|piece| !piece.is_blank()) && !self.begun.iter().any(is_other) {
                reading.steps.push(Step::Stray);
            }
        } else if let Some(value) = &located.partial_json
            && let Some(piece) = Piece::from_value(value.text)
            && (piece != Piece::Text("") || self.position(located.index).is_some())
            && let Some(block) = self.open(located.index)
        {
            block.changed_index = located
                .index
                .filter(|index| block.index != *index)
                .map(str::to_owned);
            let contents = block.call.push(piece, reading.state);
            let (call, span) = (block.call.serial, value.span.clone());
            reading.steps.push(Step::Piece { call, span, contents });
            block.call.keep_carrier(reading);
        }
        if !event.ended {
            self.end(false, reading);
        }
    }

    fn stop(&mut self, located: &AnthropicEvent<'_>, event: Incoming<'_>, reading: &mut Reading<'_>) {
        let Some(at) = self.position(located.index) else {
            if !event.ended {
                return self.end(false, reading);
            }
            return self.keep_after(|block| located.index == Some(&*block.index), reading);
        };
        let mut block = self.blocks.remove(at);
        if !event.ended {
            block.end(false, reading);
            return self.end(false, reading);
        }
        if block.call.is_repairing() {
            if !reading.state.may_hold(reading.size) {
                return block.give_up(HELD_TOO_MUCH, reading);
            }
            reading.state.held += reading.size;
            let call = block.call.serial;
            reading.steps.push(Step::Keep { call });
            block.stop = BlockEnd::Kept(reading.size);
            return self.blocks.insert(at, block);
        }
        match block.call.end(false, reading.state) {
            Some(mut outcome) => {
                let rest = std::mem::take(&mut outcome.rest);
                block.release(rest, reading);
                block.call.drop_carrier(reading);
                block.stop = BlockEnd::Left(Box::new(outcome));
                self.blocks.insert(at, block);
            }
            None => block.call.ended(Ending::default(), reading),
        }
    }

    /// Handles the `stop_reason`, if the event has one, which shows whether the output was cut off.
    fn message_delta(
        &mut self,
        located: &AnthropicEvent<'_>,
        event: Incoming<'_>,
        reading: &mut Reading<'_>,
    ) {
        if let Some(reason) = &located.stop_reason {
            return self.end(is_cut_off(reason), reading);
        }
        if !event.ended {
            return self.end(false, reading);
        }
        self.keep_after(|_| true, reading);
    }

    /// Holds an event that must not overtake the held events and does not decide about them.
    fn keep_after(&mut self, whose: impl Fn(&Block) -> bool, reading: &mut Reading<'_>) {
        let kept = |block: &Block| matches!(block.stop, BlockEnd::Kept(_)) && whose(block);
        let Some(at) = self.blocks.iter().rposition(kept) else {
            return;
        };
        if !reading.state.may_hold(reading.size) {
            return self.give_up(HELD_TOO_MUCH, reading);
        }
        if let Some(Block {
            stop: BlockEnd::Kept(size),
            call,
            ..
        }) = self.blocks.get_mut(at)
        {
            *size += reading.size;
            reading.state.held += reading.size;
            reading.steps.push(Step::Keep { call: call.serial });
        }
    }

    /// Returns the open block with an index. A piece with an unknown index continues the only open block.
    fn open(&mut self, index: Option<&str>) -> Option<&mut Block> {
        let open = |block: &&Block| matches!(block.stop, BlockEnd::Open);
        let only = self.blocks.iter().filter(open).count() == 1;
        let goes_on = index.is_none_or(|index| only && !self.has_begun(index));
        let last = || self.position(None).filter(|_| goes_on);
        let at = self.position(index).or_else(last)?;
        self.blocks.get_mut(at)
    }

    /// Returns whether a block began with this index; always `true` above the maximum number of blocks.
    fn has_begun(&self, index: &str) -> bool {
        self.begun.len() >= INDEXES_KEPT || self.begun.iter().any(|begun| begun.index == index)
    }

    fn position(&self, index: Option<&str>) -> Option<usize> {
        self.blocks.iter().rposition(|block| {
            matches!(block.stop, BlockEnd::Open) && index.is_none_or(|index| block.has(index))
        })
    }
}

/// Maximum number of kept indexes, more than a response has.
const INDEXES_KEPT: usize = 256;
const HELD_TOO_MUCH: &str = "too many bytes are held before the stream reports whether the call is complete";
