//! [`Message`]: a message of a request, and [`WholeMessage`]: an assistant message that is not streamed.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value};

use super::block::{Block, BlockText, Kind};
use super::fields::{ObjectText, RawFields};
use super::object::{Object, place, push_string};
use super::role::Role;
use super::surrogates::without_halves;
use super::usage;
use super::walk;

/// A message of a request: ranges of the body. The blocks are parsed at each access.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) role: Role,
    text: TextRange,
    content: TextRange,
}

/// A range of a text that is shorter than 4 GiB.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TextRange {
    start: u32,
    end: u32,
}

impl TextRange {
    /// Returns the range of a part in its text.
    pub(super) fn new(text: &str, part: &str) -> Self {
        let range = place(text, part);
        let offset = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        Self {
            start: offset(range.start),
            end: offset(range.end),
        }
    }

    pub(super) fn slice(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }

    /// Returns the range from the start of this range to the end of a later one.
    fn through(self, later: Self) -> Self {
        Self {
            start: self.start,
            end: later.end,
        }
    }
}

impl Message {
    /// Parses `message`, a part of a body that is known to be valid JSON. The caller adds the index of the message to an error.
    pub(crate) fn parse(body: &str, message: &str) -> Result<Self, String> {
        let object = Object::from_json(message).ok_or("expected an object")?;
        let [role, content] = object.get_all(["role", "content"]);
        let role = role.and_then(walk::string).ok_or("missing `role`, a string")?;
        let content = content.ok_or("missing `content`")?;
        if Blocks::new(content).is_none() {
            return Err("`content`: expected a string or a list of content blocks".to_owned());
        }
        Ok(Self {
            role: Role::from(&*role),
            text: TextRange::new(body, message),
            content: TextRange::new(body, content),
        })
    }

    /// Returns the text of the message in its body, unchanged.
    pub(crate) fn text<'b>(&self, body: &'b str) -> &'b str {
        self.text.slice(body)
    }

    /// Returns the text of the body from this message to a later one.
    pub(super) fn text_through<'b>(&self, later: &Self, body: &'b str) -> &'b str {
        self.text.through(later.text).slice(body)
    }

    /// Returns the blocks of the message in its body. Content that is a string is one text block.
    pub(crate) fn blocks<'b>(&self, body: &'b str) -> Blocks<'b> {
        Blocks::new(self.content.slice(body)).unwrap_or_default()
    }

    pub(crate) fn is_assistant(&self) -> bool {
        self.role == Role::Assistant
    }

    /// Returns whether the message is a system message, which is not part of the conversation's history.
    pub(crate) fn is_system(&self) -> bool {
        self.role == Role::System
    }
}

/// The blocks of a message's content.
#[derive(Debug, Clone, Default)]
pub(crate) struct Blocks<'b> {
    /// The content, if it is a string.
    string: Option<&'b str>,
    list: Option<walk::Items<'b>>,
}

impl<'b> Blocks<'b> {
    /// Returns the blocks of valid JSON content; `None` for a value that is not a string or a list.
    fn new(content: &'b str) -> Option<Self> {
        match content.as_bytes().first()? {
            b'"' => Some(Self {
                string: Some(content),
                list: None,
            }),
            b'[' => Some(Self {
                string: None,
                list: Some(walk::items(content)),
            }),
            _ => None,
        }
    }
}

impl Blocks<'_> {
    /// Returns the number of remaining blocks.
    pub(crate) fn len(&self) -> usize {
        let list = self.list.clone();
        list.map_or(usize::from(self.string.is_some()), Iterator::count)
    }
}

impl<'b> Iterator for Blocks<'b> {
    type Item = BlockText<'b>;

    fn next(&mut self) -> Option<BlockText<'b>> {
        if let Some(list) = &mut self.list {
            return list.next().map(BlockText::new);
        }
        self.string.take().map(BlockText::from_string)
    }
}

/// Maximum number of blocks of a response. A turn keeps each block with its call and a copy with the client's id, up to 16 MiB in total.
/// Real responses have at most a few hundred blocks.
pub(crate) const MAX_BLOCKS: usize = 8_000;

/// Error of a response that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageError {
    /// The text is not a message.
    Invalid,
    TooManyBlocks,
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid => f.write_str("the upstream's response is not a message of the API"),
            Self::TooManyBlocks => write!(
                f,
                "the upstream's response has more than {MAX_BLOCKS} content blocks"
            ),
        }
    }
}

/// An assistant message that is not streamed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WholeMessage {
    text: Arc<str>,
    content: TextRange,
    usage: Option<TextRange>,
    has_tool_use: bool,
}

impl WholeMessage {
    /// Parses the body of a response.
    pub(crate) fn parse(text: &str) -> Result<Self, MessageError> {
        let text = &*without_halves(text);
        let fields = Object::parse(text).map_err(|_| MessageError::Invalid)?;
        let [content, usage] = fields.get_all(["content", "usage"]);
        let content = content.ok_or(MessageError::Invalid)?;
        let blocks = Blocks::new(content).ok_or(MessageError::Invalid)?;
        // A block and its separator have at least two bytes.
        if content.len() / 2 >= MAX_BLOCKS && blocks.clone().nth(MAX_BLOCKS).is_some() {
            return Err(MessageError::TooManyBlocks);
        }
        let mut has_tool_use = false;
        for block in blocks {
            let kind = block.valid_kind().ok_or(MessageError::Invalid)?;
            has_tool_use |= kind == Kind::ToolUse;
        }
        Ok(Self {
            content: TextRange::new(text, content),
            usage: usage.map(|usage| TextRange::new(text, usage)),
            text: text.into(),
            has_tool_use,
        })
    }

    /// Returns whether the message has a `tool_use` block.
    pub(crate) fn has_tool_use(&self) -> bool {
        self.has_tool_use
    }

    /// Returns the text of the message, unchanged.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the text of the message as bytes that share the text.
    pub(crate) fn into_bytes(self) -> Bytes {
        struct Text(Arc<str>);
        impl AsRef<[u8]> for Text {
            fn as_ref(&self) -> &[u8] {
                self.0.as_bytes()
            }
        }
        Bytes::from_owner(Text(self.text))
    }

    pub(crate) fn blocks(&self) -> Blocks<'_> {
        Blocks::new(self.content.slice(&self.text)).unwrap_or_default()
    }

    /// Returns blocks that share the text of the message.
    pub(crate) fn shared_blocks(&self) -> impl Iterator<Item = Block> {
        let blocks = self.blocks();
        let is_list = blocks.list.is_some();
        blocks.map(move |block| {
            if is_list {
                Block::part(Arc::clone(&self.text), place(&self.text, block.as_str()))
            } else {
                Block::new(block.as_str())
            }
        })
    }

    /// Parses the counters of the message. A map takes as much memory as a short message, and ended turns keep their messages.
    pub(crate) fn usage(&self) -> Map<String, Value> {
        let usage = self.usage.map(|usage| usage.slice(&self.text));
        usage.and_then(usage::read).unwrap_or_default()
    }

    /// Returns the message of a `message_start` event, and the fields of its `message_delta`.
    pub(crate) fn start_and_end(&self) -> (ObjectText, RawFields) {
        let mut message = RawFields::default();
        let mut delta = RawFields::default();
        let mut context_management = None;
        for field in ["stop_reason", "stop_sequence"] {
            delta.set(field, "null");
        }
        for field in Object::from_json(&self.text).unwrap_or_default().last_of_each() {
            let (name, value) = (&*field.name(), field.value);
            let shown = match name {
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
pub(crate) fn push_message(out: &mut String, role: &Role, blocks: impl IntoIterator<Item: AsRef<str>>) {
    push_separator(out);
    out.push_str(r#"{"role":"#);
    push_string(out, role.as_str());
    out.push_str(r#","content":["#);
    for (index, block) in blocks.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(block.as_ref());
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
