//! [`Delta`]: what an event of type `content_block_delta` changes in its block.

use std::borrow::Cow;

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// A change of a block. Nearly every event of a stream appends to one text: it is read and written without a map of its fields.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Delta {
    /// Appends to a text.
    Text(TextField, String),
    /// Any other, with all of its fields.
    Other(Map<String, Value>),
}

/// A text of a block that arrives in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextField {
    Text,
    Thinking,
    Signature,
    PartialJson,
}

impl TextField {
    const ALL: [Self; 4] = [Self::Text, Self::Thinking, Self::Signature, Self::PartialJson];

    /// The name of the field.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Thinking => "thinking",
            Self::Signature => "signature",
            Self::PartialJson => "partial_json",
        }
    }

    /// The `type` of the deltas that append to it.
    fn delta_type(self) -> &'static str {
        match self {
            Self::Text => "text_delta",
            Self::Thinking => "thinking_delta",
            Self::Signature => "signature_delta",
            Self::PartialJson => "input_json_delta",
        }
    }
}

impl From<Map<String, Value>> for Delta {
    fn from(mut fields: Map<String, Value>) -> Self {
        let field = TextField::ALL.into_iter().find(|field| {
            fields.len() == 2
                && fields.get("type").is_some_and(|kind| kind == field.delta_type())
                && fields.get(field.as_str()).is_some_and(Value::is_string)
        });
        match field.and_then(|field| Some((field, fields.get_mut(field.as_str())?.take()))) {
            Some((field, Value::String(text))) => Self::Text(field, text),
            _ => Self::Other(fields),
        }
    }
}

impl Serialize for Delta {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(field, text) => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("type", field.delta_type())?;
                map.serialize_entry(field.as_str(), text)?;
                map.end()
            }
            Self::Other(fields) => fields.serialize(serializer),
        }
    }
}

/// Reads the data of an event that appends to a text: its block's index, and the delta. `None` if it is another event, or has anything
/// else.
pub(super) fn parse_text(data: &str) -> Option<(usize, Delta)> {
    let event: TextEvent<'_> = serde_json::from_str(data).ok()?;
    let TextFields {
        kind,
        text,
        thinking,
        signature,
        partial_json,
    } = event.delta;
    let (field, text) = match (text, thinking, signature, partial_json) {
        (Some(text), None, None, None) => (TextField::Text, text),
        (None, Some(text), None, None) => (TextField::Thinking, text),
        (None, None, Some(text), None) => (TextField::Signature, text),
        (None, None, None, Some(text)) => (TextField::PartialJson, text),
        _ => return None,
    };
    let is_text = event.kind == "content_block_delta" && kind == field.delta_type();
    is_text.then_some((event.index, Delta::Text(field, text)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TextEvent<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    index: usize,
    #[serde(borrow)]
    delta: TextFields<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TextFields<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(default, deserialize_with = "string")]
    text: Option<String>,
    #[serde(default, deserialize_with = "string")]
    thinking: Option<String>,
    #[serde(default, deserialize_with = "string")]
    signature: Option<String>,
    #[serde(default, deserialize_with = "string")]
    partial_json: Option<String>,
}

/// A string; a null is none.
fn string<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_are_read_and_written_without_a_map() {
        for (data, field, text) in [
            (
                r#"{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"a\n\u00e9"}}"#,
                TextField::Text,
                "a\né",
            ),
            (
                r#"{"index":3,"delta":{"thinking":"","type":"thinking_delta"},"type":"content_block_delta"}"#,
                TextField::Thinking,
                "",
            ),
            (
                r#"{"type":"content_block_delta","index":3,"delta":{"type":"signature_delta","signature":"c2ln"}}"#,
                TextField::Signature,
                "c2ln",
            ),
            (
                r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"a"}}"#,
                TextField::PartialJson,
                "{\"a",
            ),
        ] {
            let delta = Delta::Text(field, text.to_owned());
            assert_eq!(parse_text(data), Some((3, delta.clone())));
            let event: Value = serde_json::from_str(data).unwrap();
            assert_eq!(serde_json::to_value(&delta).unwrap(), event["delta"]);
            assert_eq!(Delta::from(event["delta"].as_object().unwrap().clone()), delta);
        }
    }

    #[test]
    fn deltas_with_other_fields_are_kept_whole() {
        for delta in [
            json!({ "type": "text_delta" }),
            json!({ "type": "text_delta", "text": null }),
            json!({ "type": "text_delta", "text": "a", "new": 1 }),
            json!({ "type": "text_delta", "text": "a", "thinking": null }),
            json!({ "type": "text_delta", "thinking": "a" }),
            json!({ "type": "later_delta", "text": "a" }),
            json!({ "type": "citations_delta", "citation": {} }),
        ] {
            let data = json!({ "type": "content_block_delta", "index": 0, "delta": delta }).to_string();
            assert_eq!(parse_text(&data), None, "{data}");
            let read = Delta::from(delta.as_object().unwrap().clone());
            assert!(matches!(read, Delta::Other(_)), "{data}");
            assert_eq!(serde_json::to_value(&read).unwrap(), delta);
        }
        for other in [
            r#"{"type":"content_block_start","index":0,"delta":{"type":"text_delta","text":"a"}}"#,
            r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"},"new":1}"#,
            r#"{"type":"ping"}"#,
        ] {
            assert_eq!(parse_text(other), None, "{other}");
        }
    }
}
