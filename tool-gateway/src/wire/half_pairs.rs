//! [`HalfPairs`]: joins surrogate pairs that are split between two events.

use super::delta::{Delta, TextField};
use super::event::StreamEvent;
use super::fields::ObjectText;
use super::surrogates::{Rewritten, rewritten};

/// Joins surrogate pairs that are split between two pieces of a text.
#[derive(Debug, Default)]
pub(crate) struct HalfPairs {
    first: Option<FirstHalf>,
}

/// High surrogate at the end of the last piece of a text.
#[derive(Debug)]
struct FirstHalf {
    index: usize,
    field: TextField,
    escape: String,
}

impl FirstHalf {
    /// Returns an event with U+FFFD, for a high surrogate without its low surrogate.
    fn event(&self) -> StreamEvent {
        StreamEvent::BlockDelta {
            index: self.index,
            delta: Delta::Text(self.field, char::REPLACEMENT_CHARACTER.to_string()),
        }
    }
}

/// An event, after the event for an earlier lone surrogate.
#[derive(Debug, PartialEq)]
pub(crate) struct JoinedEvent {
    pub(crate) before: Option<StreamEvent>,
    pub(crate) event: StreamEvent,
}

impl HalfPairs {
    /// Handles the next event of a message. A high surrogate at the end of a text moves into the next piece of the text. Other lone
    /// surrogates become U+FFFD.
    pub(crate) fn join(&mut self, event: StreamEvent) -> JoinedEvent {
        let index = match &event {
            StreamEvent::BlockDelta {
                index,
                delta: Delta::Other(delta),
            } => {
                if let Some((field, text)) = broken_text(delta) {
                    return self.join_text(*index, field, text);
                }
                Some(*index)
            }
            StreamEvent::BlockDelta { delta, .. } if delta.is_empty() => None,
            StreamEvent::BlockDelta { index, .. } | StreamEvent::BlockStop { index } => Some(*index),
            StreamEvent::MessageDelta(_) | StreamEvent::MessageStop => {
                self.first.as_ref().map(|first| first.index)
            }
            _ => None,
        };
        JoinedEvent {
            before: index.and_then(|index| self.take(index)),
            event,
        }
    }

    /// Returns the event for a pending high surrogate in the block with this index.
    pub(crate) fn take(&mut self, index: usize) -> Option<StreamEvent> {
        let first = self.first.take_if(|first| first.index == index)?;
        Some(first.event())
    }

    /// Returns whether no high surrogate waits for the next piece.
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Joins a piece of a text, which is a JSON string.
    fn join_text(&mut self, index: usize, field: TextField, text: &str) -> JoinedEvent {
        let mut piece = text.to_owned();
        let mut before = self.first.take();
        if let Some(first) = before.take_if(|first| first.index == index && first.field == field) {
            piece.insert_str(1, &first.escape);
        }
        let content = piece.strip_prefix('"').and_then(|piece| piece.strip_suffix('"'));
        let Rewritten { text, first_half } = rewritten(content.unwrap_or_default(), true);
        let text = serde_json::from_str(&format!("\"{text}\"")).unwrap_or_default();
        self.first = first_half.map(|escape| FirstHalf {
            index,
            field,
            escape: escape.to_owned(),
        });
        JoinedEvent {
            before: before.map(|first| first.event()),
            event: StreamEvent::BlockDelta {
                index,
                delta: Delta::Text(field, text),
            },
        }
    }
}

/// Returns the JSON string of a delta with a single text, which was not parsed because of a lone surrogate.
fn broken_text(delta: &ObjectText) -> Option<(TextField, &str)> {
    if !delta.as_str().contains("\\u") {
        return None;
    }
    let object = delta.object();
    let field = TextField::from_delta(&object)?;
    let text = object.get(field.as_str())?;
    text.starts_with('"').then_some((field, text))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn event(data: &str) -> StreamEvent {
        StreamEvent::parse(data).unwrap()
    }

    fn piece(index: usize, field: &str, text: &str) -> StreamEvent {
        let kind = if field == "partial_json" {
            "input_json"
        } else {
            field
        };
        event(&format!(
            r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"{kind}_delta","{field}":"{text}"}}}}"#
        ))
    }

    /// Returns the texts of the events, each after the index of its block; `-` for other events.
    fn joined(events: impl IntoIterator<Item = StreamEvent>) -> String {
        let mut halves = HalfPairs::default();
        let mut out = String::new();
        for event in events {
            let JoinedEvent { before, event } = halves.join(event);
            for event in before.into_iter().chain([event]) {
                match event {
                    StreamEvent::BlockDelta {
                        index,
                        delta: Delta::Text(_, text),
                    } => write!(out, "{index}{text}|").unwrap(),
                    _ => out.push_str("-|"),
                }
            }
        }
        out
    }

    #[test]
    fn joins_surrogates_of_consecutive_pieces() {
        let stop = |index: usize| event(&format!(r#"{{"type":"content_block_stop","index":{index}}}"#));
        let ping = || event(r#"{"type":"ping"}"#);
        let end = || event(r#"{"type":"message_stop"}"#);
        for field in ["text", "thinking", "partial_json"] {
            let piece = |index: usize, text: &str| piece(index, field, text);
            for (events, expected) in [
                (
                    vec![piece(0, r"a\ud83d"), ping(), piece(0, r"\ude00b")],
                    "0a|-|0😀b|",
                ),
                (vec![piece(0, r"\ud83d\ude00")], "0😀|"),
                (
                    vec![piece(0, r"\ud83d"), piece(0, ""), piece(0, r"\ude00")],
                    "0|0|0😀|",
                ),
                (vec![piece(0, r"\ud83d"), piece(0, "b")], "0|0\u{fffd}|0b|"),
                (
                    vec![piece(0, r"\ud83d"), piece(0, r"b\ude00")],
                    "0|0\u{fffd}b\u{fffd}|",
                ),
                (
                    vec![piece(0, r"\ud83d"), piece(0, r"\ud83d"), piece(0, r"\ude00")],
                    "0|0\u{fffd}|0😀|",
                ),
                (vec![piece(0, r"\ud83d"), stop(0)], "0|0\u{fffd}|-|"),
                (vec![piece(0, r"\ud83d"), end()], "0|0\u{fffd}|-|"),
                (
                    vec![piece(0, r"\ud83d"), piece(1, "b"), stop(1), piece(0, r"\ude00")],
                    "0|1b|-|0😀|",
                ),
                (
                    vec![piece(0, r"\ud83d"), piece(1, r"\ude00")],
                    "0|0\u{fffd}|1\u{fffd}|",
                ),
            ] {
                assert_eq!(joined(events.clone()), expected, "{events:?}");
            }
        }
        let other_field = [piece(0, "thinking", r"\ud83d"), piece(0, "signature", "s")];
        assert_eq!(joined(other_field), "0|0\u{fffd}|0s|");
    }
}
