//! [`MessagesRequest`]: the body of `POST /v1/messages` and of `count_tokens`.

use std::ops::RangeInclusive;

use axum::http::StatusCode;

use super::error::ApiError;
use super::message::{Blocks, Message, TextRange};
use super::object::{Object, push_name, push_quoted_name};
use super::walk::{self, Field};

/// Messages that replace the messages of a request.
pub(crate) trait MessagesText {
    /// Returns an upper bound of the size in bytes. A text that grows takes up to three times its size.
    fn max_len(&self) -> usize;

    /// Appends the messages to `out`, which ends with the opening bracket of their list.
    fn write(&self, out: &mut String);
}

/// The text of a list without its brackets.
impl MessagesText for str {
    fn max_len(&self) -> usize {
        self.len()
    }

    fn write(&self, out: &mut String) {
        out.push_str(self);
    }
}

/// The body of a request. The request owns the text of the body, which is received once and moved into the turn. Unchanged parts keep their
/// bytes.
///
/// All parts are ranges of the text, and nested parts are parsed at each access, so that a body with many small values takes little more
/// memory than its text.
#[derive(Debug)]
pub(crate) struct MessagesRequest {
    body: String,
    /// The fields except `messages` and `tools`, in their order. The value of a repeated field is its last value, as in most JSON parsers.
    fields: Vec<FieldPart>,
    pub(crate) messages: Vec<Message>,
    /// The list of tools; `None` if it is missing or null.
    tools: Option<TextRange>,
}

/// A field of the body. Its ranges avoid a walk over the value at each access.
#[derive(Debug)]
struct FieldPart {
    name: TextRange,
    value: TextRange,
    content: FieldContent,
}

impl FieldPart {
    fn new(body: &str, field: &Field<'_>, content: FieldContent) -> Self {
        Self {
            name: TextRange::new(body, field.quoted_name()),
            value: TextRange::new(body, field.value),
            content,
        }
    }

    fn field<'b>(&self, body: &'b str) -> Field<'b> {
        Field::new(self.name.slice(body), self.value.slice(body))
    }

    /// Returns whether the field has this name, without a look at its value.
    fn has_name(&self, body: &str, name: &str) -> bool {
        Field::new(self.name.slice(body), "").is(name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldContent {
    Messages,
    Tools,
    Other,
}

impl MessagesRequest {
    /// Parses a body. The error contains the line and column of invalid JSON, or the name of the invalid field.
    pub(crate) fn parse(body: impl Into<String>) -> Result<Self, ApiError> {
        let body = body.into();
        if u32::try_from(body.len()).is_err() {
            let message = "the request is larger than 4 GiB; send less";
            return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, message));
        }
        let object = Object::parse(&body)
            .map_err(|error| ApiError::invalid(format!("the body is not a JSON object: {error}")))?;
        let (mut messages, mut tools) = (None, None);
        let mut fields = Vec::with_capacity(object.capacity());
        for field in object.last_of_each() {
            let content = if field.is("messages") {
                messages = Some(field.value);
                FieldContent::Messages
            } else if field.is("tools") {
                tools = Some(field.value);
                FieldContent::Tools
            } else {
                FieldContent::Other
            };
            fields.push(FieldPart::new(&body, &field, content));
        }
        let texts = list(messages, "messages")?
            .ok_or_else(|| ApiError::invalid("messages: missing; expected a list of messages"))?;
        let items = walk::items(texts);
        let mut messages = Vec::with_capacity(items.capacity());
        for (index, message) in items.enumerate() {
            let message = Message::parse(&body, message);
            messages.push(message.map_err(|error| ApiError::invalid(format!("messages.{index}: {error}")))?);
        }
        let tools = list(tools, "tools")?.map(|tools| TextRange::new(&body, tools));
        Ok(Self {
            body,
            fields,
            messages,
            tools,
        })
    }

    /// Returns the text of the body, unchanged.
    pub(crate) fn into_body(self) -> String {
        self.body
    }

    /// Returns the text of the body.
    pub(crate) fn body(&self) -> &str {
        &self.body
    }

    /// Returns the text of a field other than `messages` and `tools`.
    pub(crate) fn get(&self, field: &str) -> Option<&str> {
        self.settings_parts()
            .find(|part| part.has_name(&self.body, field))
            .map(|part| part.value.slice(&self.body))
    }

    /// Returns all fields except `messages` and `tools`, in their order.
    pub(crate) fn settings(&self) -> impl Iterator<Item = Field<'_>> {
        self.settings_parts().map(|part| part.field(&self.body))
    }

    /// Returns all fields except `messages` and `tools`, sorted by name.
    pub(crate) fn sorted_settings(&self) -> impl Iterator<Item = Field<'_>> {
        let mut parts: Vec<_> = Vec::with_capacity(self.fields.len());
        parts.extend(self.settings_parts());
        parts.sort_unstable_by(|left, right| left.field(&self.body).cmp_name(&right.field(&self.body)));
        parts.into_iter().map(|part| part.field(&self.body))
    }

    fn settings_parts(&self) -> impl Iterator<Item = &FieldPart> {
        self.fields
            .iter()
            .filter(|part| part.content == FieldContent::Other)
    }

    /// Returns the text of a message, unchanged.
    pub(crate) fn message_text(&self, index: usize) -> Option<&str> {
        self.messages.get(index).map(|message| message.text(&self.body))
    }

    /// Returns the text of consecutive messages, unchanged.
    pub(super) fn messages_text(&self, indexes: RangeInclusive<usize>) -> &str {
        let first = self.messages.get(*indexes.start());
        let last = self.messages.get(*indexes.end());
        let messages = first.zip(last);
        messages.map_or("", |(first, last)| first.text_through(last, &self.body))
    }

    /// Returns the blocks of a message of this request.
    pub(crate) fn blocks(&self, message: &Message) -> Blocks<'_> {
        message.blocks(&self.body)
    }

    /// Returns the texts of the declared tools.
    pub(crate) fn tools(&self) -> walk::Items<'_> {
        walk::items(self.tools_text())
    }

    /// Returns the text of the list of tools; empty without a list.
    pub(crate) fn tools_text(&self) -> &str {
        self.tools.map_or("", |tools| tools.slice(&self.body))
    }

    /// Returns whether the request declares tools. The first tool, which may be long, is not read.
    pub(crate) fn has_tools(&self) -> bool {
        let list = self.tools_text().strip_prefix('[');
        list.is_some_and(|list| !list.trim_ascii_start().starts_with(']'))
    }

    /// Returns the size of all messages in bytes, with a separator for each.
    pub(crate) fn messages_len(&self) -> usize {
        let messages = self.messages.iter();
        messages.map(|message| message.text(&self.body).len() + 1).sum()
    }

    /// Returns the size of the body in bytes.
    pub(crate) fn len(&self) -> usize {
        self.body.len()
    }

    /// Returns whether the client requested a stream.
    pub(crate) fn is_stream(&self) -> bool {
        self.get("stream") == Some("true")
    }

    /// Builds the body with other messages, other values of some fields, and without some fields. Missing fields are appended.
    pub(crate) fn with<M: MessagesText + ?Sized>(
        &self,
        messages: &M,
        changes: &[(&str, &str)],
        left_out: &[&str],
    ) -> String {
        let added: usize = changes
            .iter()
            .map(|(name, text)| name.len() + text.len() + 4)
            .sum();
        let mut body = String::with_capacity(self.settings_len() + messages.max_len() + added);
        body.push('{');
        let mut has = vec![false; changes.len()];
        for part in &self.fields {
            let field = part.field(&self.body);
            if left_out.iter().any(|name| field.is(name)) {
                continue;
            }
            push_quoted_name(&mut body, field.quoted_name());
            let change = changes.iter().position(|(name, _)| field.is(name));
            match (
                change.and_then(|at| changes.get(at).zip(has.get_mut(at))),
                part.content,
            ) {
                (Some(((_, text), has)), _) => {
                    *has = true;
                    body.push_str(text);
                }
                (None, FieldContent::Messages) => {
                    body.push('[');
                    messages.write(&mut body);
                    body.push(']');
                }
                (None, FieldContent::Tools) if self.tools.is_some() => push_list(&mut body, self.tools()),
                (None, _) => body.push_str(field.value),
            }
        }
        let added = changes.iter().zip(has).filter(|(_, has)| !has);
        for ((field, value), _) in added {
            push_name(&mut body, field);
            body.push_str(value);
        }
        body.push('}');
        body
    }

    /// Returns the size of the body without its messages.
    fn settings_len(&self) -> usize {
        // The length of the list includes its separators.
        let messages = self.messages_len().saturating_sub(self.messages.len());
        self.body.len().saturating_sub(messages)
    }
}

/// Appends a list with these items.
fn push_list<'i>(out: &mut String, items: impl IntoIterator<Item = &'i str>) {
    out.push('[');
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(item);
    }
    out.push(']');
}

/// A field that is a list; `None` if it is absent or null.
fn list<'a>(value: Option<&'a str>, field: &str) -> Result<Option<&'a str>, ApiError> {
    match value {
        None | Some("null") => Ok(None),
        Some(list) if list.starts_with('[') => Ok(Some(list)),
        Some(_) => Err(ApiError::invalid(format!("{field}: expected a list"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_keep_the_other_fields() {
        let body = r#"{"model": "m","messages":[{"role":"user","content":"hi"}] , "x":1.50}"#;
        let request = MessagesRequest::parse(body).unwrap();
        assert_eq!(
            request.blocks(&request.messages[0]).next().unwrap().as_str(),
            r#"{"type":"text","text":"hi"}"#
        );
        assert_eq!(
            request.with("5", &[("tools", "[1]")], &[]),
            r#"{"model":"m","messages":[5],"x":1.50,"tools":[1]}"#,
        );
        assert_eq!(
            request.with("5", &[], &["x", "y"]),
            r#"{"model":"m","messages":[5]}"#,
        );
        for (tools, expected) in [
            ("null", "null"),
            ("[ ]", "[]"),
            ("[ 1.0 , {\"a\": 1}]", "[1.0,{\"a\": 1}]"),
        ] {
            let body = format!(r#"{{"tools":{tools},"messages":[]}}"#);
            let expected = format!(r#"{{"tools":{expected},"messages":[]}}"#);
            let request = MessagesRequest::parse(body).unwrap();
            assert_eq!(request.with("", &[], &[]), expected);
            assert_eq!(request.has_tools(), request.tools().next().is_some());
        }
    }

    /// If each repetition were replaced, a short request could have many copies of all messages.
    #[test]
    fn sends_the_last_of_a_repeated_field() {
        let many = 20_000;
        let messages = r#""messages":0,"#.repeat(many);
        let tools = r#""tools":[],"#.repeat(many);
        let others = (0..many).map(|index| format!(r#""x{index}":0,"x{index}":1,"#));
        let others = others.collect::<Vec<_>>().concat();
        let body =
            format!(r#"{{{messages}{tools}{others}"model":"a","messages":[],"tools":[2],"model":"b"}}"#);
        let request = MessagesRequest::parse(body).unwrap();
        let sent = request.with("5", &[("model", "\"c\"")], &[]);
        let others = (0..many).map(|index| format!(r#""x{index}":1,"#));
        let others = others.collect::<Vec<_>>().concat();
        let last = r#""messages":[5],"tools":[2],"model":"c"}"#;
        assert!(sent == format!("{{{others}{last}"), "{} bytes", sent.len());
        assert_eq!(
            (request.get("model"), request.get("x7")),
            (Some("\"b\""), Some("1"))
        );
        assert_eq!(request.sorted_settings().count(), many + 1);
    }

    #[test]
    fn errors_have_the_path() {
        let error = |body| MessagesRequest::parse(body).unwrap_err().message;
        assert!(
            error("{\"messages\": [}").contains("line 1 column 15"),
            "{}",
            error("{\"messages\": [}")
        );
        assert_eq!(error("{}"), "messages: missing; expected a list of messages");
        assert_eq!(error(r#"{"messages":{}}"#), "messages: expected a list");
        let second = r#"{"messages":[{"role":"user","content":""},{"role":"user"}]}"#;
        assert_eq!(error(second), "messages.1: missing `content`");
        let number = r#"{"messages":[{"role":"user","content":5}]}"#;
        assert_eq!(
            error(number),
            "messages.0: `content`: expected a string or a list of content blocks"
        );
    }
}
