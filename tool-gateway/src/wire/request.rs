//! [`MessagesRequest`]: the body of `POST /v1/messages`, and of `count_tokens`.

use serde_json::value::RawValue;

use super::error::ApiError;
use super::message::Message;
use super::object::{Change, Object, with_field};

/// The body of a request. What the gateway does not change keeps its bytes.
#[derive(Debug)]
pub(crate) struct MessagesRequest<'a> {
    object: Object<'a>,
    pub(crate) messages: Vec<Message<'a>>,
    /// The declared tools as text.
    pub(crate) tools: Vec<&'a str>,
}

impl<'a> MessagesRequest<'a> {
    /// Reads a body. The error names the place: the line and column of what is not JSON, else the field.
    pub(crate) fn parse(body: &'a str) -> Result<Self, ApiError> {
        let object = Object::parse(body)
            .map_err(|error| ApiError::invalid(format!("the body is not a JSON object: {error}")))?;
        let messages = list(&object, "messages")?
            .ok_or_else(|| ApiError::invalid("messages: missing; expected a list of messages"))?;
        let messages = messages.into_iter().enumerate().map(|(index, message)| {
            Message::parse(message).map_err(|error| ApiError::invalid(format!("messages.{index}: {error}")))
        });
        let messages = messages.collect::<Result<Vec<_>, _>>()?;
        let tools = list(&object, "tools")?.unwrap_or_default();
        Ok(Self {
            object,
            messages,
            tools,
        })
    }

    /// A field as text.
    pub(crate) fn get(&self, field: &str) -> Option<&'a str> {
        self.object.get(field)
    }

    /// All fields with their text, in their order.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.object.0.iter().map(|(name, value)| (&**name, value.get()))
    }

    /// Whether the client asked for a stream.
    pub(crate) fn is_stream(&self) -> bool {
        self.get("stream") == Some("true")
    }

    /// The body with other values of some fields; those that it did not have are appended.
    pub(crate) fn with(&self, changes: &[(&str, &str)]) -> String {
        let mut body = String::new();
        let change = |name: &str| {
            changes
                .iter()
                .find(|(field, _)| *field == name)
                .map(|(_, text)| *text)
        };
        self.object.write(&mut body, |name, _| {
            Some(change(name).map_or(Change::Keep, Change::To))
        });
        for (field, value) in changes {
            if self.get(field).is_none() {
                body = with_field(&body, field, value);
            }
        }
        body
    }
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
