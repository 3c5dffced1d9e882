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
    /// Arguments that leave in pieces.
    eager: Option<EagerArguments>,
    /// The call, if it has ended.
    ended: Option<ReadCall>,
    extra_content: Option<Box<RawValue>>,
}

/// Beginning of a call whose tool has `eager_input_streaming`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EagerCall {
    pub(super) id: String,
    pub(super) tool: String,
}

/// Arguments of a call that leave in pieces.
#[derive(Debug)]
struct EagerArguments {
    call: EagerCall,
    /// Arguments that have not left.
    pending: String,
    has_begun: bool,
}

impl HeldCall {
    /// Takes the next part of an eager call; `None` if the call must be complete, or waits for more arguments.
    fn pop_eager(&mut self) -> Option<ReadyPart> {
        let eager = self.eager.as_mut()?;
        if !eager.has_begun {
            // Other arguments than an object are read when they are complete.
            eager.has_begun = eager.pending.trim_start().starts_with('{');
            return eager
                .has_begun
                .then(|| ReadyPart::Begun(eager.call.clone(), self.extra_content.take()));
        }
        if eager.pending.is_empty() {
            return None;
        }
        Some(ReadyPart::Arguments(std::mem::take(&mut eager.pending)))
    }

    fn has_begun(&self) -> bool {
        self.eager.as_ref().is_some_and(|eager| eager.has_begun)
    }

    /// Removes the arguments that have not left.
    fn clear(&mut self) {
        if let Some(eager) = &mut self.eager {
            eager.pending.clear();
        }
    }
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

    /// Adds a call that begins. The arguments of an eager call leave in pieces.
    pub(super) fn begin_call(&mut self, number: u64, eager: Option<EagerCall>) {
        let eager = eager.map(|call| EagerArguments {
            call,
            pending: String::new(),
            has_begun: false,
        });
        self.0.push_back(HeldPart::Call(HeldCall {
            number,
            eager,
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

    /// Adds arguments of a call.
    pub(super) fn push_arguments(&mut self, number: u64, text: &str) {
        if let Some(eager) = self.call(number).and_then(|held| held.eager.as_mut()) {
            eager.pending.push_str(text);
        }
    }

    /// Removes the arguments of a call, which begin again. Returns `false` if some of them have left.
    pub(super) fn restart(&mut self, number: u64) -> bool {
        let Some(held) = self.call(number) else {
            return true;
        };
        held.clear();
        !held.has_begun()
    }

    /// Records the end of a call. Without `has_rest`, the arguments that have not left do not leave.
    pub(super) fn end_call(&mut self, call: ReadCall, has_rest: bool) {
        if let Some(held) = self.call(call.call) {
            if held.has_begun() && !has_rest {
                held.clear();
            }
            held.ended = Some(call);
        }
    }

    /// Removes the calls that were cut off: all whose arguments are not one complete object. The pieces of an eager call that have left
    /// remain.
    pub(super) fn remove_cut_off(&mut self) {
        self.0.retain_mut(|part| {
            let HeldPart::Call(held) = part else { return true };
            let ended = held.ended.as_ref();
            let is_complete = ended.is_some_and(|call| Object::parse(call.arguments.trim()).is_ok());
            if !is_complete {
                held.clear();
            }
            is_complete || held.has_begun()
        });
    }

    /// Takes the next part that waits for no call.
    pub(super) fn pop(&mut self) -> Option<ReadyPart> {
        if let Some(HeldPart::Call(held)) = self.0.front_mut()
            && let Some(part) = held.pop_eager()
        {
            return Some(part);
        }
        match self.0.pop_front()? {
            HeldPart::Text(kind, text) => Some(ReadyPart::Text(kind, text)),
            HeldPart::Detail(detail) => Some(ReadyPart::Detail(detail)),
            HeldPart::Call(HeldCall {
                ended: Some(call),
                extra_content,
                eager,
                ..
            }) => Some(match eager.filter(|eager| eager.has_begun) {
                Some(eager) => ReadyPart::Ended(eager.call, call),
                None => ReadyPart::Call(call, extra_content),
            }),
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
    /// An eager call begins.
    Begun(EagerCall, Option<Box<RawValue>>),
    /// Next arguments of the eager call.
    Arguments(String),
    /// The eager call ends.
    Ended(EagerCall, ReadCall),
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
