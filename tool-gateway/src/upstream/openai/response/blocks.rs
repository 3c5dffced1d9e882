//! [`BlockWriter`]: writes the events of a message's blocks.

use std::collections::VecDeque;

use serde_json::value::RawValue;

use super::content::PieceText;
use super::details::ReasoningDetails;
use crate::upstream::answer::{MessageEvent, Part};
use crate::upstream::openai::signature::{ReasoningField, SignedReasoning, ThinkingSigner};
use crate::wire::block::Block;
use crate::wire::delta::{Delta, TextField, pieces};
use crate::wire::event::StreamEvent;
use crate::wire::fields::ObjectText;
use crate::wire::half_pairs::{HalfPairs, JoinedEvent};

/// Writes the events of blocks. At most one block is open; it ends when a block of another kind begins.
#[derive(Debug)]
pub(super) struct BlockWriter {
    events: VecDeque<MessageEvent>,
    open: Option<OpenBlock>,
    /// White space at the beginning of a text block, which is held until other characters arrive.
    blank: Option<(BlockKind, String)>,
    /// Number of blocks that have begun.
    count: usize,
    /// Halves of surrogate pairs in thinking. The pairs are joined here, since the signature is computed over the joined text.
    halves: HalfPairs,
    signer: ThinkingSigner,
    omits_thinking: bool,
}

/// Kind of a text or thinking block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    Text,
    Thinking(ReasoningField),
}

impl BlockKind {
    fn field(self) -> TextField {
        match self {
            Self::Text => TextField::Text,
            Self::Thinking(_) => TextField::Thinking,
        }
    }
}

/// A block whose `content_block_stop` is not written yet.
#[derive(Debug)]
struct OpenBlock {
    index: usize,
    is_call: bool,
    /// The thinking so far; `None` for a text or a call.
    thinking: Option<Box<OpenThinking>>,
}

#[derive(Debug, Default)]
struct OpenThinking {
    reasoning: SignedReasoning,
    details: ReasoningDetails,
}

impl OpenBlock {
    /// Returns whether text of this kind continues the block.
    fn accepts(&self, kind: BlockKind) -> bool {
        match (kind, &self.thinking) {
            (BlockKind::Text, None) => !self.is_call,
            (BlockKind::Thinking(field), Some(open)) => {
                open.reasoning.field.is_none_or(|before| before == field)
            }
            _ => false,
        }
    }
}

/// A call of the message.
#[derive(Debug)]
pub(super) struct WrittenCall<'c> {
    pub(super) id: &'c str,
    pub(super) name: &'c str,
    pub(super) arguments: &'c str,
    /// Opaque data of the server, which is sent back with the call in later requests.
    pub(super) extra_content: Option<Box<RawValue>>,
}

impl BlockWriter {
    pub(super) fn new(signer: ThinkingSigner, omits_thinking: bool) -> Self {
        Self {
            events: VecDeque::new(),
            open: None,
            blank: None,
            count: 0,
            halves: HalfPairs::default(),
            signer,
            omits_thinking,
        }
    }

    /// Returns whether an event is queued.
    pub(super) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Takes the next event.
    pub(super) fn pop(&mut self) -> Option<MessageEvent> {
        self.events.pop_front()
    }

    /// Writes an event that is not part of a block.
    pub(super) fn push(&mut self, event: StreamEvent) {
        self.events.push_back(MessageEvent(Part::Event(event)));
    }

    /// Writes a piece of a text.
    pub(super) fn push_text(&mut self, kind: BlockKind, piece: PieceText<'_>) {
        let is_open = self.open.as_ref().is_some_and(|open| open.accepts(kind));
        let has_text = is_open && self.has_text(kind);
        if !has_text
            && let PieceText::Plain(text) = &piece
            && text.trim_ascii().is_empty()
        {
            match &mut self.blank {
                Some((blank, before)) if *blank == kind => before.push_str(text),
                blank => *blank = Some((kind, text.clone().into_owned())),
            }
            return;
        }
        let index = self.open_block(kind);
        let blank = self.blank.take().filter(|(blank, _)| *blank == kind);
        let blank = blank.map(|(_, blank)| blank);
        let field = kind.field();
        match (piece, blank) {
            (PieceText::Plain(text), None) => self.push_delta(index, Delta::Text(field, text.into_owned())),
            (PieceText::Plain(text), Some(mut blank)) => {
                blank.push_str(&text);
                self.push_delta(index, Delta::Text(field, blank));
            }
            (PieceText::Broken(json), blank) => {
                if let Some(blank) = blank {
                    self.push_delta(index, Delta::Text(field, blank));
                }
                let name = field.as_str();
                let delta = format!(r#"{{"type":"{name}_delta","{name}":{json}}}"#);
                // `HalfPairs` joins a lone surrogate with the other surrogate of its pair in the next piece.
                if let Some(delta) = ObjectText::new(&delta) {
                    self.push_delta(index, Delta::Other(delta));
                }
            }
        }
    }

    /// Adds an item of `reasoning_details` to the open thinking block. If none is open, begins a thinking block without text.
    pub(super) fn push_detail(&mut self, detail: &str) {
        self.open_thinking().details.push(detail);
    }

    /// Returns whether the open block of this kind has text. An open text block always has text, since a text block begins with the first
    /// character that is not white space.
    fn has_text(&self, kind: BlockKind) -> bool {
        let open = self.open.as_ref().and_then(|open| open.thinking.as_ref());
        kind == BlockKind::Text || open.is_some_and(|open| open.reasoning.field.is_some())
    }

    fn push_delta(&mut self, index: usize, delta: Delta) {
        let event = StreamEvent::BlockDelta { index, delta };
        let Some(open) = self.open.as_mut().and_then(|open| open.thinking.as_mut()) else {
            return self.events.push_back(MessageEvent(Part::Event(event)));
        };
        let JoinedEvent { before, event } = self.halves.join(event);
        for event in before.into_iter().chain([event]) {
            if let StreamEvent::BlockDelta {
                delta: Delta::Text(_, text),
                ..
            } = &event
            {
                open.reasoning.text.push_str(text);
            }
            if !self.omits_thinking {
                self.events.push_back(MessageEvent(Part::Event(event)));
            }
        }
    }

    /// Returns the index of the open block of this kind. If a block of another kind is open, closes it. Begins a new block if necessary.
    fn open_block(&mut self, kind: BlockKind) -> usize {
        let field = match kind {
            BlockKind::Text => None,
            BlockKind::Thinking(field) => Some(field),
        };
        if let Some(open) = self.open.as_mut().filter(|open| open.accepts(kind)) {
            if let Some(thinking) = &mut open.thinking {
                thinking.reasoning.field = field;
            }
            return open.index;
        }
        self.close();
        let thinking = field.map(|field| {
            let mut open = Box::<OpenThinking>::default();
            open.reasoning.field = Some(field);
            open
        });
        self.begin(thinking)
    }

    /// Returns the open thinking. If no thinking block is open, begins one without text.
    fn open_thinking(&mut self) -> &mut OpenThinking {
        if self.open.as_ref().is_none_or(|open| open.thinking.is_none()) {
            self.close();
            self.begin(Some(Box::default()));
        }
        let open = self.open.get_or_insert(OpenBlock {
            index: 0,
            is_call: false,
            thinking: None,
        });
        open.thinking.get_or_insert_default()
    }

    /// Begins a block.
    fn begin(&mut self, thinking: Option<Box<OpenThinking>>) -> usize {
        let index = self.count;
        self.count += 1;
        let block = Block::new(match thinking {
            Some(_) => r#"{"type":"thinking","thinking":"","signature":""}"#,
            None => r#"{"type":"text","text":""}"#,
        });
        self.push(StreamEvent::BlockStart { index, block });
        self.open = Some(OpenBlock {
            index,
            is_call: false,
            thinking,
        });
        index
    }

    /// Ends the open block. Thinking ends with its signature.
    pub(super) fn close(&mut self) {
        let Some(OpenBlock { index, thinking, .. }) = self.open.take() else {
            return;
        };
        if let Some(thinking) = thinking {
            let OpenThinking {
                mut reasoning,
                details,
            } = *thinking;
            if let Some(half) = self.halves.take(index) {
                reasoning.text.push(char::REPLACEMENT_CHARACTER);
                if !self.omits_thinking {
                    self.push(half);
                }
            }
            reasoning.details = details.into_items();
            let signature = self.signer.sign(reasoning, self.omits_thinking);
            let delta = Delta::Text(TextField::Signature, signature);
            self.push(StreamEvent::BlockDelta { index, delta });
        }
        self.push(StreamEvent::BlockStop { index });
    }

    /// Begins a call whose arguments follow. The `extra_content` is stored in the signature of the preceding thinking block.
    pub(super) fn begin_call(&mut self, call: WrittenCall<'_>) {
        let WrittenCall {
            id,
            name,
            extra_content,
            ..
        } = call;
        self.close_before(name, extra_content);
        let index = self.count;
        self.count += 1;
        let block = Block::call(id, name, "");
        self.push(StreamEvent::BlockStart { index, block });
        self.open = Some(OpenBlock {
            index,
            is_call: true,
            thinking: None,
        });
    }

    /// Writes arguments of the open call, in pieces of limited size.
    pub(super) fn push_arguments(&mut self, arguments: &str) {
        let Some(index) = self.open.as_ref().map(|open| open.index) else {
            return;
        };
        for piece in pieces(arguments) {
            self.push_delta(index, Delta::Text(TextField::PartialJson, piece.to_owned()));
        }
    }

    /// Writes a call. The `extra_content` is stored in the signature of the preceding thinking block.
    pub(super) fn push_call(&mut self, call: WrittenCall<'_>) {
        let WrittenCall {
            id,
            name,
            arguments,
            extra_content,
        } = call;
        self.close_before(name, extra_content);
        self.count += 1;
        let block = Block::call(id, name, arguments);
        self.events.push_back(MessageEvent(Part::Block(block)));
    }

    /// Stores the `extra_content` of a call in the open thinking block, and begins such a block if none is open. Then ends the open block.
    fn close_before(&mut self, name: &str, extra_content: Option<Box<RawValue>>) {
        self.blank = None;
        if let Some(extra_content) = extra_content {
            let extra_contents = &mut self.open_thinking().reasoning.extra_contents;
            extra_contents.insert(name.to_owned(), extra_content);
        }
        self.close();
    }
}
