//! [`StreamEvent`]: the events of a streamed message.

use std::fmt::Write as _;

use super::block::Block;
use super::delta::{self, Delta};
use super::fields::{ObjectText, RawFields};
use super::object::Object;

/// An event of the upstream's or the gateway's stream. Values that the gateway does not read keep their text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StreamEvent {
    /// `message`, whose content is empty.
    MessageStart(ObjectText),
    BlockStart {
        index: usize,
        block: Block,
    },
    BlockDelta {
        index: usize,
        delta: Delta,
    },
    BlockStop {
        index: usize,
    },
    /// `delta`, `usage` and all other fields except `type`.
    MessageDelta(RawFields),
    MessageStop,
    Ping,
    /// The whole event as the upstream sent it.
    Error(ObjectText),
    /// An event of an unknown type, as the upstream sent it.
    Other(ObjectText),
}

impl StreamEvent {
    /// Parses the data of an event. Returns `None` if the data is not an event of this API.
    pub(crate) fn parse(data: &str) -> Option<Self> {
        if let Some((index, delta)) = delta::parse_text(data) {
            return Some(Self::BlockDelta { index, delta });
        }
        let event = Object::parse(data).ok()?;
        let index = || event.get("index")?.parse::<usize>().ok();
        let object = |field: &str| ObjectText::from_json(event.get(field)?);
        Some(match &*event.text("type")? {
            "message_start" => Self::MessageStart(object("message")?),
            "content_block_start" => Self::BlockStart {
                index: index()?,
                block: Block::new(
                    event
                        .get("content_block")
                        .filter(|block| block.starts_with('{'))?,
                ),
            },
            "content_block_delta" => Self::BlockDelta {
                index: index()?,
                delta: object("delta")?.into(),
            },
            "content_block_stop" => Self::BlockStop { index: index()? },
            "message_delta" => {
                let mut fields = RawFields::from(event);
                fields.remove("type");
                Self::MessageDelta(fields)
            }
            "message_stop" => Self::MessageStop,
            "ping" => Self::Ping,
            "error" => Self::Error(ObjectText::from_json(data.trim_ascii())?),
            _ => Self::Other(ObjectText::from_json(data.trim_ascii())?),
        })
    }

    /// Estimates the size of the event in memory, in bytes.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::BlockDelta { delta, .. } => match delta {
                Delta::Text(_, text) => text.len(),
                Delta::Texts(run) => run.size(),
                Delta::Other(delta) => delta.as_str().len(),
            },
            Self::BlockStart { block, .. } => block.size(),
            Self::MessageDelta(fields) => fields.size(),
            Self::MessageStart(text) | Self::Error(text) | Self::Other(text) => text.as_str().len(),
            Self::BlockStop { .. } | Self::MessageStop | Self::Ping => 0,
        }
    }

    /// Appends the event as a server-sent event. The Python SDK skips events without an `event:` line.
    pub(crate) fn write_sse(&self, out: &mut String) {
        // Writes to memory do not fail.
        match self {
            Self::MessageStart(message) => {
                begin_sse(out, "message_start");
                out.push_str(r#"{"type":"message_start","message":"#);
                push_line(out, message.as_str());
                out.push('}');
            }
            Self::BlockStart { index, block } => {
                begin_sse(out, "content_block_start");
                let _ = write!(
                    out,
                    r#"{{"type":"content_block_start","index":{index},"content_block":"#
                );
                push_line(out, block.as_str());
                out.push('}');
            }
            // A run contains complete events, so it is written without a frame.
            Self::BlockDelta {
                index,
                delta: Delta::Texts(run),
            } => return run.write_sse(out, *index),
            Self::BlockDelta { index, delta } => {
                begin_sse(out, "content_block_delta");
                let _ = write!(out, r#"{{"type":"content_block_delta","index":{index},"delta":"#);
                match delta {
                    Delta::Text(field, text) => delta::write_text(out, *field, text),
                    Delta::Other(delta) => push_line(out, delta.as_str()),
                    Delta::Texts(_) => {}
                }
                out.push('}');
            }
            Self::BlockStop { index } => {
                begin_sse(out, "content_block_stop");
                let _ = write!(out, r#"{{"type":"content_block_stop","index":{index}}}"#);
            }
            Self::MessageDelta(fields) => {
                begin_sse(out, "message_delta");
                let mut text = r#"{"type":"message_delta""#.to_owned();
                fields.write(&mut text);
                push_line(out, &text);
                out.push('}');
            }
            Self::MessageStop => {
                begin_sse(out, "message_stop");
                out.push_str(r#"{"type":"message_stop"}"#);
            }
            Self::Ping => {
                begin_sse(out, "ping");
                out.push_str(r#"{"type":"ping"}"#);
            }
            Self::Error(error) => {
                begin_sse(out, "error");
                push_line(out, error.as_str());
            }
            Self::Other(event) => {
                let object = event.object();
                let name = object.text("type");
                begin_sse(
                    out,
                    name.filter(|name| !name.contains(['\n', '\r']))
                        .as_deref()
                        .unwrap_or("message"),
                );
                push_line(out, event.as_str());
            }
        }
        out.push_str("\n\n");
    }
}

fn begin_sse(out: &mut String, name: &str) {
    out.push_str("event: ");
    out.push_str(name);
    out.push_str("\ndata: ");
}

/// Appends JSON text as one line. A line break is white space in JSON, but ends the data in server-sent events.
fn push_line(out: &mut String, json: &str) {
    if json.contains(['\n', '\r']) {
        out.push_str(&json.replace(['\n', '\r'], " "));
    } else {
        out.push_str(json);
    }
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
            // Values that the gateway does not read keep their text.
            r#"{ "type" : "later", "x":1.50, "y": 1e999, "z": "\ud800" }"#,
            r#"{"type":"error","error":{"type":"overloaded_error", "message":"m"},"x":1.50}"#,
            r#"{"type":"message_start","message":{"id":"m", "content":[],"x":1.50}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"later", "x":1.50,"y":1e999}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"later_delta", "x":1.50}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn", "x":1.50},"usage":{"output_tokens":1}}"#,
        ] {
            let event = StreamEvent::parse(data).unwrap();
            let mut out = String::new();
            event.write_sse(&mut out);
            assert!(out.ends_with(&format!("data: {data}\n\n")), "{out}");
        }
    }
    #[test]
    fn line_breaks_of_the_data_are_white_space() {
        let event = StreamEvent::parse("{\"type\":\r\n\"later\"}").unwrap();
        let mut out = String::new();
        event.write_sse(&mut out);
        assert_eq!(out, "event: later\ndata: {\"type\":  \"later\"}\n\n");
    }
}
