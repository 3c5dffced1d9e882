//! [`Chunk`]: a chunk of a streamed completion, <https://platform.openai.com/docs/api-reference/chat/streaming>, or a whole completion.

use std::borrow::Cow;

use super::content::{ContentPieces, Piece};
use crate::upstream::openai::signature::ReasoningField;
use crate::wire::object::Object;
use crate::wire::walk;

/// A chunk of a stream, or a whole completion. The fields are located in one walk.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Chunk<'c> {
    error: Option<&'c str>,
    usage: Option<&'c str>,
    /// The first choice; other choices are ignored.
    choice: Option<Choice<'c>>,
}

/// Fields of a choice.
#[derive(Debug, Clone, Copy, Default)]
struct Choice<'c> {
    finish_reason: Option<&'c str>,
    /// The stop sequence that ended the text: `stop_reason` of vLLM, `matched_stop` of `SGLang`.
    matched_stop: Option<&'c str>,
    /// Text of the message, or of the part of it that a chunk has.
    message: Option<&'c str>,
}

impl<'c> Chunk<'c> {
    /// Parses a chunk. Returns `None` if the text is not a JSON object.
    pub(super) fn parse(text: &'c str) -> Option<Self> {
        let mut chunk = Self::default();
        let mut has_choices = false;
        for field in Object::parse(text).ok()?.fields() {
            if field.is("choices") {
                has_choices = true;
                let mut choices = walk::items(field.value).filter_map(Object::from_json);
                chunk.choice = choices.find_map(Choice::first);
            } else if field.is("usage") {
                chunk.usage = (field.value != "null").then_some(field.value);
            } else if field.is("error") {
                let is_empty = matches!(field.value, "null" | "\"\"" | "{}" | "false");
                chunk.error = (!is_empty).then_some(text);
            } else if (field.is("object") && field.value == r#""error""#)
                || (field.is("detail") && !has_choices)
            {
                chunk.error = Some(text);
            }
        }
        Some(chunk)
    }

    /// Returns the whole text, if it is an error.
    pub(super) fn error(self) -> Option<&'c str> {
        self.error
    }

    /// Returns the text of `usage`, unless it is null.
    pub(super) fn usage(self) -> Option<&'c str> {
        self.usage
    }

    /// Returns whether the chunk has a choice.
    pub(super) fn has_choice(self) -> bool {
        self.choice.is_some()
    }

    /// Returns the finish reason, unless it is empty.
    pub(super) fn finish_reason(self) -> Option<Cow<'c, str>> {
        let reason = walk::string(self.choice?.finish_reason?)?;
        (!matches!(&*reason, "" | "null")).then_some(reason)
    }

    /// Returns the stop sequence that ended the text. The ids of tokens are not returned.
    pub(super) fn matched_stop(self) -> Option<Cow<'c, str>> {
        walk::string(self.choice?.matched_stop?)
    }

    /// Returns the message, or the part of it that a chunk has.
    pub(super) fn message(self) -> ChunkMessage<'c> {
        let message = self.choice.and_then(|choice| choice.message);
        ChunkMessage::new(message.and_then(Object::from_json))
    }
}

impl<'c> Choice<'c> {
    /// Reads a choice; `None` unless it is the first one.
    fn first(choice: Object<'c>) -> Option<Self> {
        let mut fields = Self::default();
        for field in choice.fields() {
            if field.is("index") {
                if !matches!(field.value, "0" | "null") {
                    return None;
                }
            } else if field.is("delta") || field.is("message") {
                if field.value != "null" {
                    fields.message = Some(field.value);
                }
            } else if field.is("finish_reason") {
                fields.finish_reason = Some(field.value);
            } else if field.is("stop_reason") || field.is("matched_stop") {
                fields.matched_stop = Some(field.value);
            }
        }
        Some(fields)
    }
}

/// The message of a whole completion, or the part of it that a chunk has.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ChunkMessage<'c> {
    reasoning_content: Option<&'c str>,
    reasoning: Option<&'c str>,
    reasoning_details: Option<&'c str>,
    content: Option<&'c str>,
    refusal: Option<&'c str>,
    tool_calls: Option<&'c str>,
    function_call: Option<&'c str>,
}

impl<'c> ChunkMessage<'c> {
    fn new(message: Option<Object<'c>>) -> Self {
        let mut read = Self::default();
        for field in message.into_iter().flat_map(Object::fields) {
            let slots = [
                ("content", &mut read.content),
                ("reasoning_content", &mut read.reasoning_content),
                ("reasoning", &mut read.reasoning),
                ("reasoning_details", &mut read.reasoning_details),
                ("refusal", &mut read.refusal),
                ("tool_calls", &mut read.tool_calls),
                ("function_call", &mut read.function_call),
            ];
            if let Some((_, slot)) = slots.into_iter().find(|(name, _)| field.is(name)) {
                *slot = (!matches!(field.value, "null" | "\"\"" | "[]")).then_some(field.value);
            }
        }
        read
    }

    /// Returns whether the message has calls.
    pub(super) fn has_calls(&self) -> bool {
        self.tool_calls.is_some() || self.function_call.is_some()
    }

    /// Returns the text of `tool_calls`.
    pub(super) fn tool_calls(&self) -> Option<&'c str> {
        self.tool_calls
    }

    /// Returns the text of `function_call`, the predecessor of `tool_calls`.
    pub(super) fn function_call(&self) -> Option<&'c str> {
        self.function_call
    }

    /// Returns the non-empty pieces of the content, in the order in which they are shown. A text that several fields repeat is returned once.
    pub(super) fn pieces(&self) -> impl Iterator<Item = Piece<'c>> {
        let is_string = |json: &&str| json.starts_with('"');
        let texts = [
            (ReasoningField::ReasoningContent, self.reasoning_content),
            (ReasoningField::Reasoning, self.reasoning),
        ];
        let thinking = texts
            .into_iter()
            .find_map(|(field, text)| Some((field, text.filter(is_string)?)));
        let mut content = ContentPieces::default();
        if let Some((field, text)) = thinking {
            content.push_thinking(field, Some(text));
        }
        if let Some(details) = self.reasoning_details {
            content.push_details(details);
        }
        content.push_content(self.content);
        content.push_refusal(self.refusal);
        content.into_pieces()
    }
}
