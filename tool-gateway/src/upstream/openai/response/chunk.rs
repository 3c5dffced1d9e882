//! [`Chunk`]: a chunk of a streamed completion, <https://platform.openai.com/docs/api-reference/chat/streaming>, or a whole completion.

use std::borrow::Cow;

use crate::wire::object::Object;
use crate::wire::walk;

/// A chunk of a stream, or a whole completion. Each access to a field parses the text again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk<'c> {
    fields: Object<'c>,
    /// The first choice; other choices are ignored.
    choice: Option<Object<'c>>,
}

/// A piece of a message's content.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'c> {
    Thinking(Cow<'c, str>),
    Text(Cow<'c, str>),
    /// A text in which the model refuses.
    Refusal(Cow<'c, str>),
}

impl<'c> Chunk<'c> {
    /// Parses a chunk. Returns `None` if the text is not a JSON object.
    pub(super) fn parse(text: &'c str) -> Option<Self> {
        let fields = Object::parse(text).ok()?;
        let choices = fields.get("choices").map(walk::items).into_iter().flatten();
        let mut choices = choices.filter_map(Object::from_json);
        let choice = choices.find(|choice| matches!(choice.get("index"), None | Some("0" | "null")));
        Some(Self { fields, choice })
    }

    /// Returns the text of an error, unless it is empty.
    pub(super) fn error(self) -> Option<&'c str> {
        let is_empty = |error: &&str| matches!(*error, "null" | "\"\"" | "{}" | "false");
        self.fields.get("error").filter(|error| !is_empty(error))
    }

    /// Returns the text of `usage`, unless it is null.
    pub(super) fn usage(self) -> Option<&'c str> {
        self.fields.get("usage").filter(|usage| *usage != "null")
    }

    /// Returns whether the chunk has a choice.
    pub(super) fn has_choice(self) -> bool {
        self.choice.is_some()
    }

    /// Returns the finish reason, unless it is empty.
    pub(super) fn finish_reason(self) -> Option<Cow<'c, str>> {
        let reason = self.choice?.text("finish_reason")?;
        (!matches!(&*reason, "" | "null")).then_some(reason)
    }

    /// Returns the text of a message, or the part of the text in a chunk.
    pub(super) fn message(self) -> Option<&'c str> {
        let choice = self.choice?;
        choice.get("delta").or_else(|| choice.get("message"))
    }

    /// Returns the non-empty pieces of the content, in the order in which they are shown.
    pub(super) fn pieces(self) -> impl Iterator<Item = Piece<'c>> {
        let message = self.message().and_then(Object::from_json);
        let text = |name: &str| {
            message
                .and_then(|message| message.text(name))
                .filter(|text| !text.is_empty())
        };
        let thinking = text("reasoning_content").or_else(|| text("reasoning"));
        let pieces = [
            thinking.map(Piece::Thinking),
            text("content").map(Piece::Text),
            text("refusal").map(Piece::Refusal),
        ];
        pieces.into_iter().flatten()
    }
}
