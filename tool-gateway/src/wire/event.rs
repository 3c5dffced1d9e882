//! [`StreamEvent`]: the events of a streamed message.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

/// An event of the upstream's stream, or of the gateway's.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StreamEvent {
    /// The message without content.
    MessageStart(Map<String, Value>),
    BlockStart {
        index: usize,
        block: Map<String, Value>,
    },
    BlockDelta {
        index: usize,
        delta: Map<String, Value>,
    },
    BlockStop {
        index: usize,
    },
    /// `delta`, `usage` and whatever stands beside them.
    MessageDelta(Map<String, Value>),
    MessageStop,
    Ping,
    /// The whole event, as the upstream sent it.
    Error(Value),
    /// An event of a type that is not known.
    Other(Value),
}

impl StreamEvent {
    /// Reads the data of an event; `None` if it is not an event of this API.
    pub(crate) fn parse(data: &str) -> Option<Self> {
        let mut value: Value = serde_json::from_str(data).ok()?;
        let kind = value.get("type")?.as_str()?.to_owned();
        let index = value
            .get("index")
            .and_then(Value::as_u64)
            .and_then(|index| usize::try_from(index).ok());
        let mut object = |field: &str| match value.get_mut(field).map(Value::take) {
            Some(Value::Object(object)) => Some(object),
            _ => None,
        };
        Some(match kind.as_str() {
            "message_start" => Self::MessageStart(object("message")?),
            "content_block_start" => Self::BlockStart {
                index: index?,
                block: object("content_block")?,
            },
            "content_block_delta" => Self::BlockDelta {
                index: index?,
                delta: object("delta")?,
            },
            "content_block_stop" => Self::BlockStop { index: index? },
            "message_delta" => match value {
                Value::Object(mut fields) => {
                    fields.shift_remove("type");
                    Self::MessageDelta(fields)
                }
                _ => return None,
            },
            "message_stop" => Self::MessageStop,
            "ping" => Self::Ping,
            "error" => Self::Error(value),
            _ => Self::Other(value),
        })
    }

    /// The event as server-sent event, with its `event:` line, without which the Python SDK skips it.
    pub(crate) fn to_sse(&self) -> String {
        let (name, data) = match self {
            Self::MessageStart(message) => (
                "message_start",
                json!({ "type": "message_start", "message": message }),
            ),
            Self::BlockStart { index, block } => (
                "content_block_start",
                json!({ "type": "content_block_start", "index": index, "content_block": block }),
            ),
            Self::BlockDelta { index, delta } => (
                "content_block_delta",
                json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            ),
            Self::BlockStop { index } => (
                "content_block_stop",
                json!({ "type": "content_block_stop", "index": index }),
            ),
            Self::MessageDelta(fields) => {
                let mut event = Map::new();
                event.insert("type".to_owned(), "message_delta".into());
                event.extend(fields.clone());
                ("message_delta", Value::Object(event))
            }
            Self::MessageStop => ("message_stop", json!({ "type": "message_stop" })),
            Self::Ping => ("ping", json!({ "type": "ping" })),
            Self::Error(error) => ("error", error.clone()),
            Self::Other(event) => (
                event.get("type").and_then(Value::as_str).unwrap_or("message"),
                event.clone(),
            ),
        };
        format!("event: {name}\ndata: {data}\n\n")
    }
}

/// A delta that appends to one text: nearly every event of a stream. It is read without a map of its fields.
#[derive(Debug, PartialEq)]
pub(crate) struct TextDelta {
    /// The index of its block.
    pub(crate) index: usize,
    /// The field of the delta.
    pub(crate) field: &'static str,
    pub(crate) text: String,
}

impl TextDelta {
    /// Reads the data of an event; `None` if it has anything beside one text.
    pub(crate) fn parse(data: &str) -> Option<Self> {
        let event: DeltaEvent<'_> = serde_json::from_str(data).ok()?;
        let (field, text) = match event.delta {
            DeltaFields {
                text: Some(text),
                thinking: None,
                partial_json: None,
                ..
            } => ("text", text),
            DeltaFields {
                text: None,
                thinking: Some(text),
                partial_json: None,
                ..
            } => ("thinking", text),
            DeltaFields {
                text: None,
                thinking: None,
                partial_json: Some(text),
                ..
            } => ("partial_json", text),
            _ => return None,
        };
        (event.kind == "content_block_delta").then_some(Self {
            index: event.index,
            field,
            text,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeltaEvent<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    index: usize,
    #[serde(borrow)]
    delta: DeltaFields<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeltaFields<'a> {
    #[serde(borrow, rename = "type")]
    _kind: Cow<'a, str>,
    #[serde(default, deserialize_with = "text")]
    text: Option<String>,
    #[serde(default, deserialize_with = "text")]
    thinking: Option<String>,
    #[serde(default, deserialize_with = "text")]
    partial_json: Option<String>,
}

/// A text; a null is none.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_back_as_they_were() {
        for data in [
            r#"{"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":3}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1},"new":1}"#,
            r#"{"type":"message_stop"}"#,
            r#"{"type":"ping"}"#,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#,
            r#"{"type":"later","x":1}"#,
        ] {
            let event = StreamEvent::parse(data).unwrap();
            assert!(
                event.to_sse().ends_with(&format!("data: {data}\n\n")),
                "{}",
                event.to_sse()
            );
        }
    }

    #[test]
    fn text_deltas_are_those_with_one_text_and_nothing_else() {
        for (data, field, text) in [
            (
                r#"{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"a\n\u00e9"}}"#,
                "text",
                "a\né",
            ),
            (
                r#"{"index":3,"delta":{"thinking":"","type":"thinking_delta"},"type":"content_block_delta"}"#,
                "thinking",
                "",
            ),
            (
                r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"a"}}"#,
                "partial_json",
                "{\"a",
            ),
        ] {
            let delta = TextDelta::parse(data).unwrap();
            assert_eq!((delta.index, delta.field, delta.text.as_str()), (3, field, text));
            // The same as the event says that has all of it.
            let Some(StreamEvent::BlockDelta { index: 3, delta }) = StreamEvent::parse(data)
            else {
                panic!("{data}")
            };
            assert_eq!(delta[field], text);
        }
        for other in [
            r#"{"type":"content_block_start","index":0,"delta":{"type":"text_delta","text":"a"}}"#,
            r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":null}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a","thinking":null}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a","new":1}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{}}}"#,
            r#"{"type":"ping"}"#,
        ] {
            assert_eq!(TextDelta::parse(other), None, "{other}");
        }
    }
}
