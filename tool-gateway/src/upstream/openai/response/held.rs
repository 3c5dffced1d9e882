//! [`HeldParts`]: parts of a message behind a call that is not complete, in the order of their beginnings.

use std::collections::VecDeque;

use serde_json::value::RawValue;
use tool_runtime::repair::stream::ReadCall;

use super::blocks::BlockKind;
use super::content::PieceText;
use crate::wire::object::Object;

/// Parts that wait for a call before them.
#[derive(Debug, Default)]
pub(super) struct HeldParts(VecDeque<HeldPart>);

/// A part of the message.
#[derive(Debug)]
enum HeldPart {
    Text(BlockKind, PieceText<'static>),
    /// An item of `reasoning_details`.
    Detail(String),
    Call(HeldCall),
}

/// A call.
#[derive(Debug)]
struct HeldCall {
    number: u64,
    /// The call, if it has ended.
    ended: Option<ReadCall>,
    extra_content: Option<Box<RawValue>>,
}

impl HeldParts {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a piece of a text.
    pub(super) fn push_text(&mut self, kind: BlockKind, piece: PieceText<'_>) {
        if let (Some(HeldPart::Text(last, PieceText::Plain(text))), PieceText::Plain(piece)) =
            (self.0.back_mut(), &piece)
            && *last == kind
        {
            text.to_mut().push_str(piece);
            return;
        }
        self.0.push_back(HeldPart::Text(kind, piece.into_owned()));
    }

    /// Adds an item of `reasoning_details`.
    pub(super) fn push_detail(&mut self, detail: &str) {
        self.0.push_back(HeldPart::Detail(detail.to_owned()));
    }

    /// Adds a call that begins.
    pub(super) fn begin_call(&mut self, number: u64) {
        self.0.push_back(HeldPart::Call(HeldCall {
            number,
            ended: None,
            extra_content: None,
        }));
    }

    /// Sets the `extra_content` of a call that has not left.
    pub(super) fn set_extra_content(&mut self, number: u64, extra_content: &str) {
        if let Some(held) = self.call(number) {
            held.extra_content = RawValue::from_string(extra_content.to_owned()).ok();
        }
    }

    fn call(&mut self, number: u64) -> Option<&mut HeldCall> {
        let mut calls = self.0.iter_mut().filter_map(|part| match part {
            HeldPart::Call(held) => Some(held),
            HeldPart::Text(..) | HeldPart::Detail(_) => None,
        });
        calls.find(|held| held.number == number)
    }

    /// Records the end of a call.
    pub(super) fn end_call(&mut self, call: ReadCall) {
        if let Some(held) = self.call(call.call) {
            held.ended = Some(call);
        }
    }

    /// Removes the calls that were cut off: all whose arguments are not one complete object.
    pub(super) fn remove_cut_off(&mut self) {
        self.0.retain(|part| match part {
            HeldPart::Text(..) | HeldPart::Detail(_) => true,
            HeldPart::Call(held) => held
                .ended
                .as_ref()
                .is_some_and(|call| Object::parse(call.arguments.trim()).is_ok()),
        });
    }

    /// Takes the next part that waits for no call.
    pub(super) fn pop(&mut self) -> Option<ReadyPart> {
        match self.0.pop_front()? {
            HeldPart::Text(kind, text) => Some(ReadyPart::Text(kind, text)),
            HeldPart::Detail(detail) => Some(ReadyPart::Detail(detail)),
            HeldPart::Call(HeldCall {
                ended: Some(call),
                extra_content,
                ..
            }) => Some(ReadyPart::Call(call, extra_content)),
            part @ HeldPart::Call(_) => {
                self.0.push_front(part);
                None
            }
        }
    }
}

/// A part that leaves.
#[derive(Debug)]
pub(super) enum ReadyPart {
    Text(BlockKind, PieceText<'static>),
    Detail(String),
    /// A call, and its `extra_content`.
    Call(ReadCall, Option<Box<RawValue>>),
}

/// Returns the objects in the arguments of a call, if there are several of them and nothing else.
pub(super) fn several_objects(arguments: &str) -> Option<Vec<&str>> {
    let objects = serde_json::Deserializer::from_str(arguments).into_iter::<&RawValue>();
    let objects: Vec<&str> = objects
        .map(|object| object.map(RawValue::get))
        .collect::<Result<_, _>>()
        .ok()?;
    let are_objects = objects.iter().all(|object| object.starts_with('{'));
    (objects.len() > 1 && are_objects).then_some(objects)
}
