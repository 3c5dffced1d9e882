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
use crate::stream::call::outcome::{AFTER_END, Ending, MAY_CONTINUE_PREVIOUS_CALL};
use crate::stream::call::piece::Piece;
use crate::stream::call::step::{EventContext, RawEvent, Step};
use crate::stream::call::stop_reason::is_cut_off;

/// Open calls in a stream of Anthropic's Messages.
#[derive(Debug, Default)]
pub(crate) struct Anthropic {
    blocks: Vec<Block>,
    /// Indexes of all blocks of any kind that began during or after a call.
    begun: Vec<Begun>,
}

/// The latest block with this index.
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

    /// Handles an event. Returns whether it belongs to this dialect.
    pub(crate) fn on_event(&mut self, event: RawEvent<'_>, context: &mut EventContext<'_>) -> bool {
        let Some(located) = AnthropicEvent::parse(event.text) else {
            return false;
        };
        match located.kind.as_deref().or(event.name).unwrap_or_default() {
            "content_block_start" => self.on_block_start(&located, event, context),
            "content_block_delta" => self.on_block_delta(&located, event, context),
            "content_block_stop" => self.on_block_stop(&located, event, context),
            "message_delta" => self.on_message_delta(&located, event, context),
            "error" => self.end(true, context),
            "message_stop" => self.end(false, context),
            _ if !event.ended => self.end(false, context),
            _ => {}
        }
        true
    }

    /// Ends every call at the end of the stream: as truncated if `cut` is true, otherwise as complete.
    pub(crate) fn end(&mut self, cut: bool, context: &mut EventContext<'_>) {
        for block in std::mem::take(&mut self.blocks) {
            block.end(cut, context);
        }
    }

    /// Stops repairing the open calls of the stream. Held arguments are sent unchanged.
    pub(crate) fn bail_out(&mut self, reason: &str, context: &mut EventContext<'_>) {
        for block in std::mem::take(&mut self.blocks) {
            block.bail_out(reason, context);
        }
    }

    /// Begins a block. Earlier blocks that have stopped, and an open block with the same index, are complete. If the
    /// open block has the same id, too, the new block is a repetition.
    fn on_block_start(
        &mut self,
        located: &AnthropicEvent<'_>,
        event: RawEvent<'_>,
        context: &mut EventContext<'_>,
    ) {
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
        let again = same.any(|block| !block.conclude(context));
        let complete = |block: &Block| !matches!(block.stop, BlockEnd::Open) || block.index == index;
        let (complete, others) = std::mem::take(&mut self.blocks).into_iter().partition(complete);
        self.blocks = others;
        let complete: Vec<Block> = complete;
        for block in complete {
            block.end(false, context);
        }
        if is_call {
            let owned = |text: &Option<Cow<'_, str>>| text.as_deref().map(str::to_owned);
            let name = owned(&located.name).unwrap_or_default();
            let mut call = Call::new(context.state, owned(&located.id), name);
            call.report_begin(None, context);
            if again {
                call.pass(MAY_CONTINUE_PREVIOUS_CALL, context.state);
            }
            self.blocks.push(Block {
                index: index.to_owned(),
                changed_index: None,
                call,
                stop: BlockEnd::Open,
            });
            if self.blocks.len() > context.state.limits.calls {
                let reason = context.state.too_many_calls();
                self.bail_out(&reason, context);
                context.state.bail_out(reason);
            }
        }
        if !event.ended {
            self.end(false, context);
        }
    }

    fn on_block_delta(
        &mut self,
        located: &AnthropicEvent<'_>,
        event: RawEvent<'_>,
        context: &mut EventContext<'_>,
    ) {
        let held = |block: &Block| matches!(block.stop, BlockEnd::Held(_));
        let is_held_block =
            |block: &Block| held(block) && located.index.is_some_and(|index| block.has(index));
        let stray = located.partial_json.is_some() && self.open(located.index).is_none();
        if stray || self.blocks.iter().any(is_held_block) {
            let (held, others) = std::mem::take(&mut self.blocks).into_iter().partition(held);
            self.blocks = others;
            let held: Vec<Block> = held;
            for block in held {
                block.bail_out(AFTER_END, context);
            }
            let is_other = |begun: &Begun| located.index == Some(&*begun.index) && !begun.is_call;
            let piece = located
                .partial_json
                .as_ref()
                .and_then(|value| Piece::from_value(value.text));
            if piece.is_some_and(|piece| !piece.is_blank()) && !self.begun.iter().any(is_other) {
                context.steps.push(Step::Unattributed);
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
            let contents = block.call.push(piece, context.state);
            let (call, span) = (block.call.serial, value.span.clone());
            context.steps.push(Step::Piece { call, span, contents });
            block.call.keep_carrier(context);
        }
        if !event.ended {
            self.end(false, context);
        }
    }

    fn on_block_stop(
        &mut self,
        located: &AnthropicEvent<'_>,
        event: RawEvent<'_>,
        context: &mut EventContext<'_>,
    ) {
        let Some(at) = self.position(located.index) else {
            if !event.ended {
                return self.end(false, context);
            }
            return self.hold_after(|block| located.index == Some(&*block.index), context);
        };
        let mut block = self.blocks.remove(at);
        if !event.ended {
            block.end(false, context);
            return self.end(false, context);
        }
        if block.call.is_repairing() {
            if !context.state.may_hold(context.size) {
                return block.bail_out(HELD_TOO_MUCH, context);
            }
            context.state.held += context.size;
            let call = block.call.serial;
            context.steps.push(Step::HoldEvent { call });
            block.stop = BlockEnd::Held(context.size);
            return self.blocks.insert(at, block);
        }
        match block.call.end(false, context.state) {
            Some(mut outcome) => {
                let rest = std::mem::take(&mut outcome.rest);
                block.release(rest, context);
                block.call.drop_carrier(context);
                block.stop = BlockEnd::Sent(Box::new(outcome));
                self.blocks.insert(at, block);
            }
            None => block.call.report_end(Ending::default(), context),
        }
    }

    /// Handles a `message_delta`. Its `stop_reason` shows whether the output was cut off.
    fn on_message_delta(
        &mut self,
        located: &AnthropicEvent<'_>,
        event: RawEvent<'_>,
        context: &mut EventContext<'_>,
    ) {
        if let Some(reason) = &located.stop_reason {
            return self.end(is_cut_off(reason), context);
        }
        if !event.ended {
            return self.end(false, context);
        }
        self.hold_after(|_| true, context);
    }

    /// Holds an event behind the held events of the latest block that `belongs` accepts, to keep their order.
    fn hold_after(&mut self, belongs: impl Fn(&Block) -> bool, context: &mut EventContext<'_>) {
        let held = |block: &Block| matches!(block.stop, BlockEnd::Held(_)) && belongs(block);
        let Some(at) = self.blocks.iter().rposition(held) else {
            return;
        };
        if !context.state.may_hold(context.size) {
            return self.bail_out(HELD_TOO_MUCH, context);
        }
        if let Some(Block {
            stop: BlockEnd::Held(size),
            call,
            ..
        }) = self.blocks.get_mut(at)
        {
            *size += context.size;
            context.state.held += context.size;
            context.steps.push(Step::HoldEvent { call: call.serial });
        }
    }

    /// Returns the open block with this index, or the only open block if the index is unknown.
    fn open(&mut self, index: Option<&str>) -> Option<&mut Block> {
        let open = |block: &&Block| matches!(block.stop, BlockEnd::Open);
        let only = self.blocks.iter().filter(open).count() == 1;
        let continues_open = index.is_none_or(|index| only && !self.has_begun(index));
        let last = || self.position(None).filter(|_| continues_open);
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

/// Maximum number of kept indexes. No real response has more blocks.
const INDEXES_KEPT: usize = 256;
const HELD_TOO_MUCH: &str = "too many bytes are held before the stream reports whether the call is complete";
