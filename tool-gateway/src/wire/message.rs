//! Messages of a request, and messages as text.

use std::borrow::Cow;
use std::sync::Arc;

use serde::de::{IgnoredAny, MapAccess};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::block::Block;
use super::fields::{ObjectText, RawFields};
use super::list::TextOrList;
use super::object::{self, Fields, Object, last_of_each, push_string};
use super::role::Role;
use super::surrogates::without_halves;

/// A message of a request.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) role: Role,
    /// Blocks of the message; a string is one text block.
    pub(crate) blocks: Vec<Block>,
}

impl Message {
    /// Parses a message. The error does not contain the position of the message.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let fields: MessageFields<'_> = object::read(text).map_err(|_| "expected an object".to_owned())?;
        let role = fields.role.and_then(|role| serde_json::from_str(role.get()).ok());
        let role = role.ok_or("missing `role`, a string")?;
        let content = fields.content.ok_or("missing `content`")?;
        let blocks =
            blocks(content).ok_or("`content`: expected a string or a list of content blocks".to_owned())?;
        Ok(Self { role, blocks })
    }

    pub(crate) fn is_assistant(&self) -> bool {
        self.role == Role::Assistant
    }

    /// Returns whether the message is a system message, which is not part of the conversation's history.
    pub(crate) fn is_system(&self) -> bool {
        self.role == Role::System
    }
}

/// Fields of a message that the gateway reads. The last of repeated fields counts, as in [`Object`].
#[derive(Default)]
struct MessageFields<'a> {
    role: Option<&'a RawValue>,
    content: Option<TextOrList<'a>>,
    usage: Option<&'a RawValue>,
}

impl<'a> Fields<'a> for MessageFields<'a> {
    fn read_field<A: MapAccess<'a>>(&mut self, name: Cow<'a, str>, map: &mut A) -> Result<(), A::Error> {
        match &*name {
            "role" => self.role = Some(map.next_value()?),
            "content" => self.content = Some(map.next_value()?),
            "usage" => self.usage = Some(map.next_value()?),
            _ => _ = map.next_value::<IgnoredAny>()?,
        }
        Ok(())
    }
}

/// Returns the blocks of a message's content. A string is one text block.
fn blocks(content: TextOrList<'_>) -> Option<Vec<Block>> {
    match content {
        TextOrList::Text(text) => Some(vec![Block::text(&text)]),
        TextOrList::List(blocks) => Some(blocks.into_iter().map(|block| Block::new(block.get())).collect()),
        TextOrList::Null | TextOrList::Other => None,
    }
}

/// An assistant message that is not streamed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WholeMessage {
    text: Arc<str>,
    blocks: Vec<Block>,
    usage: Map<String, Value>,
}

impl WholeMessage {
    /// Parses the body of a response.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = without_halves(text);
        let fields: MessageFields<'_> = object::read(&text).ok()?;
        let usage = fields.usage.map(|usage| serde_json::from_str(usage.get()));
        Some(Self {
            blocks: blocks(fields.content?)?,
            usage: usage.and_then(Result::ok).unwrap_or_default(),
            text: (*text).into(),
        })
    }

    /// Returns the text of the message, unchanged.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    pub(crate) fn usage(&self) -> &Map<String, Value> {
        &self.usage
    }

    /// Returns the blocks and the usage.
    pub(crate) fn into_parts(self) -> (Vec<Block>, Map<String, Value>) {
        (self.blocks, self.usage)
    }

    /// Returns the message for a `message_start` event, and the fields for a `message_delta` event.
    pub(crate) fn start_and_end(&self) -> (ObjectText, RawFields) {
        let mut message = RawFields::default();
        let mut delta = RawFields::default();
        let mut context_management = None;
        for field in ["stop_reason", "stop_sequence"] {
            delta.set(field, "null");
        }
        for (name, value) in last_of_each(&Object::parse(&self.text).unwrap_or_default().0) {
            let value = value.get();
            let shown = match &**name {
                "content" => "[]",
                "stop_reason" | "stop_sequence" => {
                    delta.set(name, value);
                    "null"
                }
                "stop_details" | "container" if value != "null" => {
                    delta.set(name, value);
                    value
                }
                "context_management" if value != "null" => {
                    context_management = Some(value);
                    "null"
                }
                _ => value,
            };
            message.set(name, shown);
        }
        let mut end = RawFields::default();
        end.set("delta", delta.to_json());
        if let Some(edits) = context_management {
            end.set("context_management", edits);
        }
        (message.into_object(), end)
    }
}

/// Appends a message to the text of a list of messages.
pub(crate) fn push_message<'b>(out: &mut String, role: &Role, blocks: impl IntoIterator<Item = &'b Block>) {
    push_separator(out);
    out.push_str(r#"{"role":"#);
    push_string(out, role.as_str());
    out.push_str(r#","content":["#);
    for (index, block) in blocks.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(block.as_str());
    }
    out.push_str("]}");
}

/// Appends the text of a message to the text of a list of messages.
pub(crate) fn push_text(out: &mut String, message: &str) {
    push_separator(out);
    out.push_str(message);
}

fn push_separator(out: &mut String) {
    if !out.is_empty() && !out.ends_with('[') {
        out.push(',');
    }
}
