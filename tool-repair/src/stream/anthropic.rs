//! Anthropic's Messages: calls are blocks, told apart by `index`, and end with their `content_block_stop`. Why the
//! model stopped comes after that, in the `message_delta`.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::anthropic_block::{Block, Stop};
use super::anthropic_event::Located;
use super::call::{Call, MORE_OF_ANOTHER, UNREADABLE};
use super::dialect::is_cut_off;
use super::payload::{Edit, Payload, may_be_read_by_others};
use super::piece::Piece;
use super::shared::Shared;
use crate::sse::Event;

/// The calls under way in a stream of Anthropic's Messages.
#[derive(Debug, Default)]
pub(super) struct Anthropic {
    blocks: Vec<Block>,
    /// The indexes of all blocks that began beside or after a call, of whatever kind.
    begun: Vec<String>,
}

impl Anthropic {
    pub(super) fn event(&mut self, event: &Event<'_>, shared: &mut Shared<'_>) {
        if self.blocks.is_empty() && !may_call(event.raw()) {
            return shared.send(event.raw());
        }
        let payload = Payload::of(event);
        let located = payload
            .as_ref()
            .and_then(|payload| Some((payload, Located::of(payload.text())?)));
        let Some((payload, located)) = located else {
            if !event.ended() {
                self.end(false, shared);
            } else if may_be_read_by_others(event, "partial_json") {
                self.give_up(UNREADABLE, shared);
            }
            return shared.send(event.raw());
        };
        match located.kind.as_deref().or(event.name()).unwrap_or_default() {
            "content_block_start" => self.start(&located, event, shared),
            "content_block_delta" => self.delta(&located, payload, event, shared),
            "content_block_stop" => self.stop(&located, event, shared),
            "message_delta" => self.message_delta(&located, event, shared),
            "error" => self.end_all(true, event, shared),
            "message_stop" => self.end_all(false, event, shared),
            _ if !event.ended() => self.end_all(false, event, shared),
            _ => shared.send(event.raw()),
        }
    }

    /// The stream ends, or breaks off: so does every call.
    pub(super) fn end(&mut self, cut: bool, shared: &mut Shared<'_>) {
        for block in std::mem::take(&mut self.blocks) {
            block.end(cut, None, shared);
        }
    }

    /// The stream cannot be followed any more: what is held leaves as it came.
    pub(super) fn give_up(&mut self, reason: &str, shared: &mut Shared<'_>) {
        for block in std::mem::take(&mut self.blocks) {
            block.give_up(reason, shared);
        }
    }

    /// Another block begins, so those that stopped before are complete; and so is one whose index it takes. If it takes
    /// its id, too, it is the same one, said again.
    fn start(&mut self, located: &Located<'_>, event: &Event<'_>, shared: &mut Shared<'_>) {
        let index = located.index.unwrap_or_default();
        if !self.has_begun(index) {
            self.begun.push(index.to_owned());
        }
        let mut same = self
            .blocks
            .iter_mut()
            .filter(|block| block.is_open_as(index, located.id.as_deref()));
        let again = same.any(|block| !block.conclude(shared));
        let complete = |block: &Block| !matches!(block.stop, Stop::Open) || block.index == index;
        let (complete, others) = std::mem::take(&mut self.blocks).into_iter().partition(complete);
        self.blocks = others;
        let complete: Vec<Block> = complete;
        for block in complete {
            block.end(false, None, shared);
        }
        if located.block_type.as_deref() == Some("tool_use") {
            let owned = |text: &Option<Cow<'_, str>>| text.as_deref().map(str::to_owned);
            let name = owned(&located.name).unwrap_or_default();
            let mut call = Call::new(shared.state, owned(&located.id), name);
            if again {
                call.pass(MORE_OF_ANOTHER, shared.state);
            }
            self.blocks.push(Block {
                index: index.to_owned(),
                changed_index: None,
                call,
                stop: Stop::Open,
            });
            if self.blocks.len() > shared.state.limits.calls {
                let reason = shared.state.too_many_calls();
                self.give_up(&reason, shared);
                shared.state.lose(reason);
            }
        }
        if !event.ended() {
            self.end(false, shared);
        }
        shared.send(event.raw());
    }

    fn delta(
        &mut self,
        located: &Located<'_>,
        payload: &Payload<'_>,
        event: &Event<'_>,
        shared: &mut Shared<'_>,
    ) {
        let mut edits = Vec::new();
        let kept = |block: &Block| matches!(block.stop, Stop::Kept(_));
        let is_kept = |block: &Block| kept(block) && located.index.is_some_and(|index| block.has(index));
        let stray = located.partial_json.is_some() && self.open(located.index).is_none();
        if stray || self.blocks.iter().any(is_kept) {
            let (kept, others) = std::mem::take(&mut self.blocks).into_iter().partition(kept);
            self.blocks = others;
            let kept: Vec<Block> = kept;
            for block in kept {
                block.give_up("arguments came after their end", shared);
            }
        } else if let Some(span) = &located.partial_json
            && let Some(piece) = Piece::of(payload.slice(span))
            && (piece != Piece::Text("") || self.position(located.index).is_some())
            && let Some(block) = self.open(located.index)
        {
            block.changed_index = located
                .index
                .filter(|index| block.index != *index)
                .map(str::to_owned);
            edits.push(Edit {
                call: block.call.serial,
                span: span.clone(),
                contents: block.call.push(piece, shared),
            });
            block.call.keep_event(event.raw(), shared.state);
        }
        if !event.ended() {
            for block in std::mem::take(&mut self.blocks) {
                block.end(false, Some((&mut edits, payload)), shared);
            }
        }
        if !shared.state.failed {
            payload.write(&mut edits, shared.out);
        }
    }

    fn stop(&mut self, located: &Located<'_>, event: &Event<'_>, shared: &mut Shared<'_>) {
        let Some(at) = self.position(located.index) else {
            if !event.ended() {
                return self.end_all(false, event, shared);
            }
            return self.send_after_kept(|block| located.index == Some(&*block.index), event, shared);
        };
        let mut block = self.blocks.remove(at);
        if !event.ended() {
            block.end(false, None, shared);
            return self.end_all(false, event, shared);
        }
        if block.call.is_repairing() {
            let raw = event.raw();
            if !shared.state.may_hold(raw.len()) {
                block.give_up(HELD_TOO_MUCH, shared);
                return shared.send(raw);
            }
            shared.state.held += raw.len();
            block.stop = Stop::Kept(raw.to_vec());
            return self.blocks.insert(at, block);
        }
        if let Some(outcome) = block.call.end(false, shared.state) {
            block.send_rest(&outcome.rest, shared);
            block.call.last = Vec::new();
            block.stop = Stop::Left(Box::new(outcome));
            self.blocks.insert(at, block);
        }
        shared.send(event.raw());
    }

    /// Tells whether the output was cut off, if it says why the model stopped.
    fn message_delta(&mut self, located: &Located<'_>, event: &Event<'_>, shared: &mut Shared<'_>) {
        if let Some(reason) = &located.stop_reason {
            return self.end_all(is_cut_off(reason), event, shared);
        }
        if !event.ended() {
            return self.end_all(false, event, shared);
        }
        self.send_after_kept(|_| true, event, shared);
    }

    /// Sends an event that says nothing more than what is kept back, and must not overtake it.
    fn send_after_kept(
        &mut self,
        whose: impl Fn(&Block) -> bool,
        event: &Event<'_>,
        shared: &mut Shared<'_>,
    ) {
        let raw = event.raw();
        let kept = |block: &Block| matches!(block.stop, Stop::Kept(_)) && whose(block);
        let Some(at) = self.blocks.iter().rposition(kept) else {
            return shared.send(raw);
        };
        if !shared.state.may_hold(raw.len()) {
            self.give_up(HELD_TOO_MUCH, shared);
            return shared.send(raw);
        }
        if let Some(Block {
            stop: Stop::Kept(kept),
            ..
        }) = self.blocks.get_mut(at)
        {
            kept.extend_from_slice(raw);
            shared.state.held += raw.len();
        }
    }

    fn end_all(&mut self, cut: bool, event: &Event<'_>, shared: &mut Shared<'_>) {
        for block in std::mem::take(&mut self.blocks) {
            block.end(cut, None, shared);
        }
        shared.send(event.raw());
    }

    /// The open block of an index; a piece of an index that no block began with goes on with the only one that is open.
    fn open(&mut self, index: Option<&str>) -> Option<&mut Block> {
        let open = |block: &&Block| matches!(block.stop, Stop::Open);
        let only = self.blocks.iter().filter(open).count() == 1;
        let goes_on = index.is_none_or(|index| only && !self.has_begun(index));
        let last = || self.position(None).filter(|_| goes_on);
        let at = self.position(index).or_else(last)?;
        self.blocks.get_mut(at)
    }

    /// Whether a block began with this index; once there were too many to keep, any may have.
    fn has_begun(&self, index: &str) -> bool {
        self.begun.len() >= INDEXES_KEPT || self.begun.iter().any(|begun| begun == index)
    }

    fn position(&self, index: Option<&str>) -> Option<usize> {
        self.blocks
            .iter()
            .rposition(|block| matches!(block.stop, Stop::Open) && index.is_none_or(|index| block.has(index)))
    }
}

/// More blocks than an answer has.
const INDEXES_KEPT: usize = 256;
const HELD_TOO_MUCH: &str = "more is held than may be until the stream says whether it is complete";

/// Whether an event may begin a call, when none is under way.
fn may_call(raw: &[u8]) -> bool {
    static CALL: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("tool_use"));
    CALL.find(raw).is_some()
}
