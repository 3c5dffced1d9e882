//! [`Chunk`]: a chunk of a streamed completion, <https://platform.openai.com/docs/api-reference/chat/streaming>, or a whole completion.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::content::{ContentPieces, Piece};
use crate::upstream::openai::signature::ReasoningField;
use crate::wire::walk;

/// A chunk of a stream, or a whole completion. The text is parsed and its fields are located in one pass, since a stream has a chunk for
/// each token.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Chunk<'c> {
    /// Whether the text is an error.
    is_error: bool,
    text: &'c str,
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
    /// The message, or the part of it that a chunk has.
    message: ChunkMessage<'c>,
}

impl<'c> Chunk<'c> {
    /// Parses a chunk. Returns `None` if the text is not a JSON object.
    pub(super) fn parse(text: &'c str) -> Option<Self> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let chunk = deserializer.deserialize_map(ChunkVisitor).ok()?;
        deserializer.end().ok()?;
        Some(Self { text, ..chunk })
    }

    /// Returns the whole text, if it is an error.
    pub(super) fn error(self) -> Option<&'c str> {
        self.is_error.then_some(self.text)
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
        self.choice.unwrap_or_default().message
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
    /// Returns the place of a field; `None` for a field that is not read.
    fn field(&mut self, name: &str) -> Option<&mut Option<&'c str>> {
        Some(match name {
            "content" => &mut self.content,
            "reasoning_content" => &mut self.reasoning_content,
            "reasoning" => &mut self.reasoning,
            "reasoning_details" => &mut self.reasoning_details,
            "refusal" => &mut self.refusal,
            "tool_calls" => &mut self.tool_calls,
            "function_call" => &mut self.function_call,
            _ => return None,
        })
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

/// Reads a chunk.
struct ChunkVisitor;

impl<'de> Visitor<'de> for ChunkVisitor {
    type Value = Chunk<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Chunk<'de>, A::Error> {
        let mut chunk = Chunk::default();
        let mut has_choices = false;
        while let Some(name) = next_name(&mut fields)? {
            match &*name {
                "choices" => {
                    has_choices = true;
                    chunk.choice = fields.next_value_seed(AnyValue(ChoicesVisitor))?;
                }
                "usage" => chunk.usage = Some(next_text(&mut fields)?).filter(|usage| *usage != "null"),
                "error" => {
                    let error = next_text(&mut fields)?;
                    chunk.is_error = !matches!(error, "null" | "\"\"" | "{}" | "false");
                }
                "object" => chunk.is_error |= next_text(&mut fields)? == r#""error""#,
                name => {
                    chunk.is_error |= name == "detail" && !has_choices;
                    fields.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(chunk)
    }
}

/// Reads a list of choices.
struct ChoicesVisitor;

impl<'de> AnyVisitor<'de> for ChoicesVisitor {
    type Value = Option<Choice<'de>>;

    fn visit_seq<A: SeqAccess<'de>>(self, mut choices: A) -> Result<Self::Value, A::Error> {
        let mut first = None;
        while let Some(choice) = choices.next_element_seed(AnyValue(ChoiceVisitor))? {
            first = first.or(choice);
        }
        Ok(first)
    }
}

/// Reads a choice; `None` unless it is the first one.
struct ChoiceVisitor;

impl<'de> AnyVisitor<'de> for ChoiceVisitor {
    type Value = Option<Choice<'de>>;

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut choice = Choice::default();
        let mut is_first = true;
        while let Some(name) = next_name(&mut fields)? {
            match &*name {
                "index" => is_first &= matches!(next_text(&mut fields)?, "0" | "null"),
                "delta" | "message" => {
                    if let Some(message) = fields.next_value_seed(AnyValue(MessageVisitor))? {
                        choice.message = message;
                    }
                }
                "finish_reason" => choice.finish_reason = Some(next_text(&mut fields)?),
                "stop_reason" | "matched_stop" => choice.matched_stop = Some(next_text(&mut fields)?),
                _ => {
                    fields.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(is_first.then_some(choice))
    }
}

/// Reads a message; `None` for null.
struct MessageVisitor;

impl<'de> AnyVisitor<'de> for MessageVisitor {
    type Value = Option<ChunkMessage<'de>>;

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut message = ChunkMessage::default();
        while let Some(name) = next_name(&mut fields)? {
            match message.field(&name) {
                Some(field) => {
                    let text = next_text(&mut fields)?;
                    *field = (!matches!(text, "null" | "\"\"" | "[]")).then_some(text);
                }
                None => {
                    fields.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Some(message))
    }
}

/// Reads a value that should be an object or a list. Other values are read as nothing.
trait AnyVisitor<'de>: Sized {
    type Value: Default;

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::Value::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::Value::default())
    }
}

/// A value of any type for an [`AnyVisitor`].
struct AnyValue<V>(V);

impl<'de, V: AnyVisitor<'de>> DeserializeSeed<'de> for AnyValue<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, V: AnyVisitor<'de>> Visitor<'de> for AnyValue<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        Ok(V::Value::default())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<V::Value, E> {
        Ok(V::Value::default())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<V::Value, E> {
        Ok(V::Value::default())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<V::Value, E> {
        Ok(V::Value::default())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<V::Value, E> {
        Ok(V::Value::default())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<V::Value, E> {
        Ok(V::Value::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(fields)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(items)
    }
}

/// Reads the name of the next field.
fn next_name<'de, A: MapAccess<'de>>(fields: &mut A) -> Result<Option<Cow<'de, str>>, A::Error> {
    let name = fields.next_key::<&'de RawValue>()?;
    Ok(name.map(|name| walk::name(name.get())))
}

/// Reads the text of the next value.
fn next_text<'de, A: MapAccess<'de>>(fields: &mut A) -> Result<&'de str, A::Error> {
    Ok(fields.next_value::<&'de RawValue>()?.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts of a chunk.
    #[derive(Debug, Clone, Default, PartialEq)]
    struct ReadParts<'c> {
        content: Option<&'c str>,
        finish_reason: Option<String>,
        usage: Option<&'c str>,
        is_error: bool,
    }

    fn read(text: &str) -> Option<ReadParts<'_>> {
        let chunk = Chunk::parse(text)?;
        Some(ReadParts {
            content: chunk.message().content,
            finish_reason: chunk.finish_reason().map(Cow::into_owned),
            usage: chunk.usage(),
            is_error: chunk.error().is_some(),
        })
    }

    #[test]
    fn fields_of_other_types_are_read_as_nothing() {
        let nothing = ReadParts::default();
        let content = ReadParts {
            content: Some(r#""a\n""#),
            ..ReadParts::default()
        };
        for (text, expected) in [
            ("{}", nothing.clone()),
            (r#"{"choices":null,"usage":null,"error":null}"#, nothing.clone()),
            (r#"{"choices":{"delta":{"content":"a"}}}"#, nothing.clone()),
            (
                r#"{"choices":[null,1,-1,1.5,true,"a",[{}],{"index":1,"delta":{"content":"a"}}]}"#,
                nothing.clone(),
            ),
            (r#"{"choices":[{"delta":"a"}]}"#, nothing.clone()),
            (
                r#"{"choices":[{"delta":[{"content":"a"}],"finish_reason":""}]}"#,
                nothing.clone(),
            ),
            (
                r#" { "choices" : [ { "delta" : { "content" : "a\n" } } ] } "#,
                content.clone(),
            ),
            (
                r#"{"choices":[{"index":1},{"delta":{"content":"a\n"},"index":null},{"delta":{"content":"b"}}]}"#,
                content.clone(),
            ),
            (
                r#"{"choices":[],"choices":[{"delta":{"content":"b"},"message":{"content":"a\n"},"delta":null}]}"#,
                content.clone(),
            ),
            (
                r#"{"\u0063hoices":[{"d\u0065lta":{"c\u006fntent":"b","content":"a\n"}}],"\ud800":1}"#,
                content,
            ),
            (
                r#"{"x":"\ud800","choices":[{"finish_reason":"stop","logprobs":{"content":[1e999]}}],"usage":{"a":1}}"#,
                ReadParts {
                    finish_reason: Some("stop".to_owned()),
                    usage: Some(r#"{"a":1}"#),
                    ..ReadParts::default()
                },
            ),
        ] {
            assert_eq!(read(text), Some(expected), "{text}");
        }
        for other in ["", "null", "[{}]", "{", "{}{}", r#"{"choices":[{"delta":{]}"#] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn errors_are_recognized_in_every_form() {
        for (text, expected) in [
            (r#"{"error":{"message":"m"}}"#, true),
            (r#"{"error":"m"}"#, true),
            (r#"{"error":{}}"#, false),
            (r#"{"error":"","choices":[]}"#, false),
            (r#"{"object":"error","message":"m"}"#, true),
            (r#"{"object":"chat.completion.chunk"}"#, false),
            (r#"{"detail":"m"}"#, true),
            (r#"{"choices":[],"detail":"m"}"#, false),
        ] {
            assert_eq!(read(text).map(|read| read.is_error), Some(expected), "{text}");
            assert_eq!(
                Chunk::parse(text).and_then(Chunk::error),
                expected.then_some(text)
            );
        }
    }
}
