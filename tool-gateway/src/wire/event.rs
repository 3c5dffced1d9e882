//! [`StreamEvent`]: the events of a streamed message.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::delta::{self, Delta};

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
        delta: Delta,
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
        if let Some((index, delta)) = delta::parse_text(data) {
            return Some(Self::BlockDelta { index, delta });
        }
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
                delta: object("delta")?.into(),
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

    /// Appends the event as server-sent event, with its `event:` line, without which the Python SDK skips it.
    pub(crate) fn write_sse(&self, out: &mut String) {
        match self {
            Self::MessageStart(message) => {
                let name = "message_start";
                sse(out, name, &json!({ "type": name, "message": message }));
            }
            Self::BlockStart { index, block } => {
                let name = "content_block_start";
                let event = json!({ "type": name, "index": index, "content_block": block });
                sse(out, name, &event);
            }
            Self::BlockDelta { index, delta } => {
                let name = "content_block_delta";
                match delta {
                    // Nearly every event of a stream, so it is written without a value of its own.
                    Delta::Text(field, text) => {
                        begin_sse(out, name);
                        // Writing to memory does not fail.
                        let _ = write!(out, r#"{{"type":"{name}","index":{index},"delta":"#);
                        delta::write_text(out, *field, text);
                        out.push_str("}\n\n");
                    }
                    Delta::Texts(run) => run.write_sse(out, *index),
                    Delta::Other(delta) => {
                        sse(
                            out,
                            name,
                            &json!({ "type": name, "index": index, "delta": delta }),
                        );
                    }
                }
            }
            Self::BlockStop { index } => {
                let name = "content_block_stop";
                sse(out, name, &json!({ "type": name, "index": index }));
            }
            Self::MessageDelta(fields) => {
                let mut event = Map::new();
                event.insert("type".to_owned(), "message_delta".into());
                event.extend(fields.clone());
                sse(out, "message_delta", &event);
            }
            Self::MessageStop => sse(out, "message_stop", &json!({ "type": "message_stop" })),
            Self::Ping => sse(out, "ping", &json!({ "type": "ping" })),
            Self::Error(error) => sse(out, "error", error),
            Self::Other(event) => {
                let name = event.get("type").and_then(Value::as_str);
                sse(out, name.unwrap_or("message"), event);
            }
        }
    }
}

fn begin_sse(out: &mut String, name: &str) {
    out.push_str("event: ");
    out.push_str(name);
    out.push_str("\ndata: ");
}

fn sse(out: &mut String, name: &str, data: &impl Serialize) {
    begin_sse(out, name);
    // What has only strings as keys always has a form in JSON.
    out.push_str(&serde_json::to_string(data).unwrap_or_default());
    out.push_str("\n\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_round_trip() {
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
            let mut out = String::new();
            event.write_sse(&mut out);
            assert!(out.ends_with(&format!("data: {data}\n\n")), "{out}");
        }
    }
}
