//! [`ClientView`]: the content that the client has received.

use serde_json::{Map, Value, json};

use crate::turn::action::Sent;
use crate::wire::delta::{Delta, TextField};
use crate::wire::event::StreamEvent;

/// A client that reads the API strictly.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ClientView {
    pub(super) stage: Stage,
    pub(super) content: Vec<Value>,
    pub(super) is_open: bool,
    pub(super) end: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) enum Stage {
    #[default]
    Empty,
    Started,
    Ending,
    Ended,
}

impl ClientView {
    #[track_caller]
    pub(super) fn push(&mut self, sent: &Sent) {
        let next_stage = match sent {
            Sent::Event(StreamEvent::MessageStart(message)) => {
                let message: Value = serde_json::from_str(message.as_str()).unwrap();
                assert_eq!(message["usage"]["input_tokens"], 7, "{message:?}");
                (Stage::Empty, Stage::Started)
            }
            Sent::Event(StreamEvent::MessageDelta(fields)) => {
                self.end = serde_json::from_str(&fields.to_json()).unwrap();
                (Stage::Started, Stage::Ending)
            }
            Sent::Event(StreamEvent::MessageStop) => (Stage::Ending, Stage::Ended),
            Sent::Event(_) | Sent::Block { .. } => (Stage::Started, Stage::Started),
            Sent::Message(_) => (Stage::Empty, Stage::Ended),
        };
        assert_eq!(self.stage, next_stage.0, "{sent:?} after {self:#?}");
        self.stage = next_stage.1;
        let is_part = matches!(
            sent,
            Sent::Event(StreamEvent::BlockDelta { .. } | StreamEvent::BlockStop { .. })
        );
        assert_eq!(self.is_open, is_part, "{sent:?} after {self:#?}");
        match sent {
            Sent::Event(StreamEvent::BlockStart { index, block }) => {
                assert_eq!(*index, self.content.len(), "{sent:?} after {self:#?}");
                self.content.push(serde_json::from_str(block.as_str()).unwrap());
                self.is_open = true;
            }
            Sent::Event(StreamEvent::BlockDelta { index, delta }) => {
                assert_eq!(*index + 1, self.content.len(), "{sent:?} after {self:#?}");
                let block = self.content.last_mut().unwrap();
                match delta {
                    Delta::Text(TextField::PartialJson, input) => {
                        block["input"] = serde_json::from_str(input).unwrap();
                    }
                    Delta::Text(field, text) => block[field.as_str()] = text.as_str().into(),
                    Delta::Texts(_) | Delta::Other(_) => panic!("{sent:?} after {self:#?}"),
                }
            }
            Sent::Event(StreamEvent::BlockStop { index }) => {
                assert_eq!(*index + 1, self.content.len(), "{sent:?} after {self:#?}");
                self.is_open = false;
            }
            Sent::Block { index, block } => {
                assert_eq!(*index, self.content.len(), "{sent:?} after {self:#?}");
                self.content.push(serde_json::from_str(block.as_str()).unwrap());
            }
            Sent::Event(_) => {}
            Sent::Message(message) => {
                self.content = message
                    .blocks()
                    .map(|block| serde_json::from_str(block.as_str()).unwrap())
                    .collect();
                let (_, end) = message.start_and_end();
                self.end = serde_json::from_str(&end.to_json()).unwrap();
                self.end.insert("usage".to_owned(), message.usage().into());
            }
        }
    }

    /// Returns the content of a complete message.
    #[track_caller]
    pub(super) fn finish(self, reason: &str, rounds: usize) -> Vec<Value> {
        assert_eq!(self.stage, Stage::Ended, "{self:#?}");
        assert_eq!(self.end["delta"]["stop_reason"], reason, "{self:#?}");
        let usage = &self.end["usage"];
        let sums = [&usage["input_tokens"], &usage["output_tokens"]];
        assert_eq!(sums, [&json!(7 * rounds), &json!(5 * rounds)], "{self:#?}");
        let entries = usage
            .get("iterations")
            .and_then(Value::as_array)
            .map_or(1, Vec::len);
        assert_eq!(entries, rounds, "{self:#?}");
        let is_hidden = |block: &Value| matches!(block["name"].as_str(), Some("Internal" | "Deferred"));
        assert!(!self.content.iter().any(is_hidden), "{self:#?}");
        assert!(
            !self.content.is_empty(),
            "a client cannot echo an empty message: {self:#?}"
        );
        self.content
    }
}
