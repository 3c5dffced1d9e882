//! [`MessagesRequest`]: the body of `POST /v1/messages` and of `count_tokens`.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::MapAccess;
use serde_json::value::RawValue;

use super::error::ApiError;
use super::list::TextOrList;
use super::message::Message;
use super::object::{self, Fields, last_of_each, push_name};

/// Body of a request. Owns its text, so that the text is parsed once and moved into the turn. Unchanged parts keep their bytes.
#[derive(Debug)]
pub(crate) struct MessagesRequest {
    body: String,
    /// Names of the fields in their order, with the ranges of their values in the body. The ranges of messages and tools are in separate
    /// lists. The last of repeated fields counts, as in most JSON parsers.
    fields: Vec<(String, Option<Range<usize>>)>,
    pub(crate) messages: Vec<Message>,
    message_texts: Vec<Range<usize>>,
    tools: Option<Vec<Range<usize>>>,
}

impl MessagesRequest {
    /// Parses a body. The error contains the line and column of invalid JSON, or the name of the invalid field.
    pub(crate) fn parse(body: impl Into<String>) -> Result<Self, ApiError> {
        let body = body.into();
        let read: BodyFields<'_> = object::read(&body)
            .map_err(|error| ApiError::invalid(format!("the body is not a JSON object: {error}")))?;
        let texts = list(read.messages, "messages")?
            .ok_or_else(|| ApiError::invalid("messages: missing; expected a list of messages"))?;
        let messages = texts.iter().enumerate().map(|(index, message)| {
            Message::parse(message.get())
                .map_err(|error| ApiError::invalid(format!("messages.{index}: {error}")))
        });
        let messages = messages.collect::<Result<Vec<_>, _>>()?;
        let tools = list(read.tools, "tools")?;
        let place = |part: &RawValue| object::place(&body, part.get());
        Ok(Self {
            message_texts: texts.into_iter().map(place).collect(),
            tools: tools.map(|tools| tools.into_iter().map(place).collect()),
            fields: last_of_each(&read.all)
                .map(|(name, value)| (name.clone().into_owned(), value.map(place)))
                .collect(),
            messages,
            body,
        })
    }

    /// Returns the text of the body, unchanged.
    pub(crate) fn into_body(self) -> String {
        self.body
    }

    /// Returns the text of a field other than `messages` and `tools`.
    pub(crate) fn get(&self, field: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        let (_, value) = fields.find(|(name, _)| name == field)?;
        value.as_ref().map(|value| self.at(value))
    }

    /// Returns all fields except `messages` and `tools`, with their texts, in their order.
    pub(crate) fn settings(&self) -> impl Iterator<Item = (&str, &str)> {
        let fields = self.fields.iter();
        fields.filter_map(|(name, value)| Some((name.as_str(), self.at(value.as_ref()?))))
    }

    /// Returns the text of a message, unchanged.
    pub(crate) fn message_text(&self, index: usize) -> Option<&str> {
        self.message_texts.get(index).map(|text| self.at(text))
    }

    /// Returns the texts of the declared tools.
    pub(crate) fn tools(&self) -> Vec<&str> {
        let tools = self.tools.iter().flatten();
        tools.map(|tool| self.at(tool)).collect()
    }

    /// Returns whether the client requested a stream.
    pub(crate) fn is_stream(&self) -> bool {
        self.get("stream") == Some("true")
    }

    /// Builds the body with other messages, other values of some fields, and without some fields. Missing fields are appended. `messages` is
    /// the text of the list without brackets.
    pub(crate) fn with(&self, messages: &str, changes: &[(&str, &str)], left_out: &[&str]) -> String {
        let added: usize = changes
            .iter()
            .map(|(name, text)| name.len() + text.len() + 4)
            .sum();
        let mut body = String::with_capacity(self.body.len() + messages.len() + added);
        body.push('{');
        let is_sent = |name: &str| !left_out.contains(&name);
        for (name, value) in self.fields.iter().filter(|(name, _)| is_sent(name)) {
            push_name(&mut body, name);
            match (changes.iter().find(|(field, _)| field == name), value) {
                (Some((_, text)), _) => body.push_str(text),
                (None, Some(value)) => body.push_str(self.at(value)),
                (None, None) if name == "messages" => push_list(&mut body, [messages]),
                (None, None) if self.tools.is_none() => body.push_str("null"),
                (None, None) => push_list(&mut body, self.tools()),
            }
        }
        let has = |field: &str| self.fields.iter().any(|(name, _)| name == field);
        for (field, value) in changes.iter().filter(|(field, _)| !has(field)) {
            push_name(&mut body, field);
            body.push_str(value);
        }
        body.push('}');
        body
    }

    fn at(&self, place: &Range<usize>) -> &str {
        self.body.get(place.clone()).unwrap_or_default()
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

/// Returns the items of a list field, if the field is present.
fn list<'a>(value: Option<TextOrList<'a>>, field: &str) -> Result<Option<Vec<&'a RawValue>>, ApiError> {
    match value {
        None | Some(TextOrList::Null) => Ok(None),
        Some(TextOrList::List(items)) => Ok(Some(items)),
        Some(_) => Err(ApiError::invalid(format!("{field}: expected a list"))),
    }
}

/// Fields of a body. The last of repeated fields counts.
#[derive(Default)]
struct BodyFields<'a> {
    messages: Option<TextOrList<'a>>,
    tools: Option<TextOrList<'a>>,
    /// All fields in their order, with the values of the fields that are not lists.
    all: Vec<(Cow<'a, str>, Option<&'a RawValue>)>,
}

impl<'a> Fields<'a> for BodyFields<'a> {
    fn read_field<A: MapAccess<'a>>(&mut self, name: Cow<'a, str>, map: &mut A) -> Result<(), A::Error> {
        let mut other = None;
        match &*name {
            "messages" => self.messages = Some(map.next_value()?),
            "tools" => self.tools = Some(map.next_value()?),
            _ => other = Some(map.next_value()?),
        }
        self.all.push((name, other));
        Ok(())
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
            request.messages[0].blocks[0].as_str(),
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
            assert_eq!(MessagesRequest::parse(body).unwrap().with("", &[], &[]), expected);
        }
    }

    /// Otherwise the upstream request would have a copy of all messages for each repetition of a short field.
    #[test]
    fn of_a_repeated_field_the_last_is_sent() {
        let many = 100_000;
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
        assert_eq!(request.settings().count(), many + 1);
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
