//! [`MessagesRequest`]: the body of `POST /v1/messages`, and of `count_tokens`.

use std::ops::Range;

use serde_json::value::RawValue;

use super::error::ApiError;
use super::message::Message;
use super::object::{Object, push_name};

/// The body of a request, which it owns, so that it is read once and goes where its turn goes. What the gateway does not change
/// keeps its bytes.
#[derive(Debug)]
pub(crate) struct MessagesRequest {
    body: String,
    /// The names of its fields, in their order, and where their values are in the body.
    fields: Vec<(String, Range<usize>)>,
    pub(crate) messages: Vec<Message>,
    message_texts: Vec<Range<usize>>,
    tools: Vec<Range<usize>>,
}

impl MessagesRequest {
    /// Reads a body. The error names the place: the line and column of what is not JSON, else the field.
    pub(crate) fn parse(body: impl Into<String>) -> Result<Self, ApiError> {
        let body = body.into();
        let object = Object::parse(&body)
            .map_err(|error| ApiError::invalid(format!("the body is not a JSON object: {error}")))?;
        let texts = list(&object, "messages")?
            .ok_or_else(|| ApiError::invalid("messages: missing; expected a list of messages"))?;
        let messages = texts.iter().enumerate().map(|(index, message)| {
            Message::parse(message).map_err(|error| ApiError::invalid(format!("messages.{index}: {error}")))
        });
        let messages = messages.collect::<Result<Vec<_>, _>>()?;
        let tools = list(&object, "tools")?.unwrap_or_default();
        let place = |part: &str| place(&body, part);
        Ok(Self {
            message_texts: texts.into_iter().map(place).collect(),
            tools: tools.into_iter().map(place).collect(),
            fields: object
                .0
                .into_iter()
                .map(|(name, value)| (name.into_owned(), place(value.get())))
                .collect(),
            messages,
            body,
        })
    }

    /// The body as it was sent.
    pub(crate) fn into_body(self) -> String {
        self.body
    }

    /// A field as text. Of a repeated field the last counts, as for [`Object`].
    pub(crate) fn get(&self, field: &str) -> Option<&str> {
        let found = self.fields.iter().rev().find(|(name, _)| name == field);
        found.map(|(_, value)| self.at(value))
    }

    /// All fields with their text, in their order.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields
            .iter()
            .map(|(name, value)| (name.as_str(), self.at(value)))
    }

    /// A message as it was sent.
    pub(crate) fn message_text(&self, index: usize) -> Option<&str> {
        self.message_texts.get(index).map(|text| self.at(text))
    }

    /// The declared tools as text.
    pub(crate) fn tools(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| self.at(tool)).collect()
    }

    /// Whether the client asked for a stream.
    pub(crate) fn is_stream(&self) -> bool {
        self.get("stream") == Some("true")
    }

    /// The body with other values of some fields; those that it did not have are appended.
    pub(crate) fn with(&self, changes: &[(&str, &str)]) -> String {
        let added: usize = changes
            .iter()
            .map(|(name, text)| name.len() + text.len() + 4)
            .sum();
        let mut body = String::with_capacity(self.body.len() + added);
        body.push('{');
        for (name, value) in self.fields() {
            let change = changes.iter().find(|(field, _)| *field == name);
            push_name(&mut body, name);
            body.push_str(change.map_or(value, |(_, text)| text));
        }
        for (field, value) in changes.iter().filter(|(field, _)| self.get(field).is_none()) {
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

/// Where a part of a text is in it.
fn place(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr() - text.as_ptr().addr();
    start..start + part.len()
}

/// A field that is a list, or absent.
fn list<'a>(object: &Object<'a>, field: &str) -> Result<Option<Vec<&'a str>>, ApiError> {
    let Some(text) = object.get(field).filter(|text| *text != "null") else {
        return Ok(None);
    };
    let items: Vec<&'a RawValue> =
        serde_json::from_str(text).map_err(|_| ApiError::invalid(format!("{field}: expected a list")))?;
    Ok(Some(items.into_iter().map(RawValue::get).collect()))
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
            request.with(&[("messages", "[]"), ("tools", "[1]")]),
            r#"{"model":"m","messages":[],"x":1.50,"tools":[1]}"#,
        );
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
