//! [`Block`]: a content block as the upstream sends it.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use serde::de::Deserializer;
use serde::ser::{Error as _, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::object::{Change, Object, push_name, push_string, set_field};
use super::walk;

/// A content block as JSON text, borrowed from the body that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockText<'b> {
    json: Cow<'b, str>,
    /// Received text of a call's arguments, if it is not a JSON object.
    raw_input: Option<&'b str>,
}

/// The kind of a block. Each look at the kind walks over the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    EmptyText,
    Thinking,
    ToolUse,
    /// A call that the upstream runs.
    ServerToolUse,
    Other,
}

impl Kind {
    fn from_object(object: Object<'_>) -> Self {
        let [kind, text] = object.get_all(["type", "text"]);
        Self::from_fields(kind, text)
    }

    /// Returns the kind of a block with this `type` and this `text`.
    fn from_fields(kind: Option<&str>, text: Option<&str>) -> Self {
        match kind.and_then(walk::string).as_deref() {
            Some("thinking" | "redacted_thinking") => Self::Thinking,
            Some("tool_use") => Self::ToolUse,
            Some("server_tool_use" | "mcp_tool_use") => Self::ServerToolUse,
            Some("text") => match text {
                Some(text) if text.len() > 2 && text.starts_with('"') => Self::Text,
                _ => Self::EmptyText,
            },
            _ => Self::Other,
        }
    }

    /// Returns whether the block is visible. Thinking and empty texts are not, since clients may omit them.
    pub(crate) fn is_counted(self) -> bool {
        !matches!(self, Self::Thinking | Self::EmptyText)
    }

    /// Returns whether the block is a call, which the upstream or another side runs.
    pub(crate) fn is_call(self) -> bool {
        matches!(self, Self::ToolUse | Self::ServerToolUse)
    }
}

impl<'b> BlockText<'b> {
    pub(crate) fn new(json: &'b str) -> Self {
        Self {
            json: Cow::Borrowed(json),
            raw_input: None,
        }
    }

    /// Creates the text block for content that is a JSON string.
    pub(super) fn from_string(string: &str) -> Self {
        Self {
            json: Cow::Owned(format!(r#"{{"type":"text","text":{string}}}"#)),
            raw_input: None,
        }
    }

    /// Creates a text block.
    pub(crate) fn from_text(text: &str) -> Self {
        let mut string = String::with_capacity(text.len() + 2);
        push_string(&mut string, text);
        Self::from_string(&string)
    }

    /// Returns a copy of a text block with another text.
    pub(crate) fn with_text(&self, text: &str) -> Self {
        let mut string = String::with_capacity(text.len() + 2);
        push_string(&mut string, text);
        Self {
            json: Cow::Owned(set_field(&self.json, "text", &string)),
            raw_input: self.raw_input,
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.json
    }

    pub(crate) fn object(&self) -> Object<'_> {
        Object::from_json(&self.json).unwrap_or_default()
    }

    fn kind(&self) -> Kind {
        Kind::from_object(self.object())
    }

    /// Returns the kind of a block of a response; `None` if the text is not such a block: an object with a type, and with a text if it is a
    /// text block. Blocks of unknown types are valid.
    pub(super) fn valid_kind(&self) -> Option<Kind> {
        let [kind, text] = Object::from_json(&self.json)?.get_all(["type", "text"]);
        let is_valid = match kind? {
            "\"text\"" => text.is_some_and(|text| text.starts_with('"') || text == "null"),
            kind => kind.starts_with('"'),
        };
        is_valid.then(|| Kind::from_fields(kind, text))
    }

    /// Returns whether the block is visible. Thinking and empty texts are not, since clients may omit them.
    pub(crate) fn is_counted(&self) -> bool {
        self.kind().is_counted()
    }

    /// Returns the text of a text block, unless it is empty.
    pub(crate) fn text_value(&self) -> Option<Cow<'_, str>> {
        (self.kind() == Kind::Text).then(|| self.object().text("text"))?
    }

    /// Returns whether the block is thinking. Thinking is valid only after the exact messages that preceded it.
    pub(crate) fn is_thinking(&self) -> bool {
        self.kind() == Kind::Thinking
    }

    /// Returns whether the block is thinking with a signature that begins with `prefix`.
    pub(crate) fn has_signature(&self, prefix: &str) -> bool {
        let signature = || self.object().text("signature");
        self.is_thinking() && signature().is_some_and(|signature| signature.starts_with(prefix))
    }

    /// Returns the call of a `tool_use` block; `None` for other blocks.
    pub(crate) fn tool_use(&self) -> Option<ToolUse> {
        let object = self.object();
        if Kind::from_object(object) != Kind::ToolUse {
            return None;
        }
        Some(ToolUse {
            id: object.string("id").unwrap_or_default(),
            name: object.string("name").unwrap_or_default(),
            input: self
                .raw_input
                .or_else(|| object.get("input"))
                .unwrap_or("{}")
                .to_owned(),
        })
    }

    /// Returns a copy with another value of a string field, such as a call's id.
    pub(crate) fn with_string(&self, field: &str, value: &str) -> Block {
        let mut json = String::new();
        push_string(&mut json, value);
        self.with_json(field, &json)
    }

    /// Returns a copy with another value of a field, as JSON.
    pub(crate) fn with_json(&self, field: &str, json: &str) -> Block {
        Block {
            raw_input: self.raw_input.map(|raw| Arc::new(raw.to_owned())),
            ..Block::new(set_field(&self.json, field, json))
        }
    }
}

impl AsRef<str> for BlockText<'_> {
    fn as_ref(&self) -> &str {
        &self.json
    }
}

/// A content block as JSON text. Cheap to clone; the blocks of a response share its text.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    text: Arc<str>,
    /// Start of the block in the text.
    start: u32,
    /// End of the block in the text.
    end: u32,
    /// Received text of a call's arguments, if it is not a JSON object. Such calls are rare, so the field has the size of one pointer.
    raw_input: Option<Arc<String>>,
}

/// Estimated overhead of a shared text in bytes: its reference counts, and the overhead of the allocation.
pub(crate) const TEXT_BYTES: usize = 64;

impl PartialEq for Block {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str() && self.raw_input == other.raw_input
    }
}

impl Eq for Block {}

impl Block {
    pub(crate) fn new(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let range = 0..text.len();
        Self::part(text, range)
    }

    /// Creates the block in this range of a text that is shorter than 4 GiB.
    pub(super) fn part(text: Arc<str>, range: Range<usize>) -> Self {
        let offset = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        Self {
            start: offset(range.start),
            end: offset(range.end),
            text,
            raw_input: None,
        }
    }

    /// Creates a call. `arguments` is the text of the model, which need not be a JSON object.
    pub(crate) fn call(id: &str, name: &str, arguments: &str) -> Self {
        let mut json = r#"{"type":"tool_use""#.to_owned();
        for (field, value) in [("id", id), ("name", name)] {
            push_name(&mut json, field);
            push_string(&mut json, value);
        }
        let trimmed = arguments.trim();
        let is_object = Object::parse(trimmed).is_ok();
        push_name(&mut json, "input");
        json.push_str(if is_object { trimmed } else { "{}" });
        json.push('}');
        let block = Self::new(json);
        if is_object || trimmed.is_empty() {
            return block;
        }
        block.with_raw_input(arguments.to_owned())
    }

    /// Creates a call whose arguments are not a JSON object.
    pub(super) fn with_raw_input(self, raw_input: String) -> Self {
        Self {
            raw_input: Some(Arc::new(raw_input)),
            ..self
        }
    }

    /// Creates a text block.
    pub(crate) fn text(text: &str) -> Self {
        let mut json = r#"{"type":"text","text":"#.to_owned();
        push_string(&mut json, text);
        json.push('}');
        Self::new(json)
    }

    pub(crate) fn as_str(&self) -> &str {
        // `usize` has at least 32 bits on the supported platforms.
        self.text
            .get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }

    /// Returns the block as borrowed text.
    pub(crate) fn borrowed(&self) -> BlockText<'_> {
        BlockText {
            json: Cow::Borrowed(self.as_str()),
            raw_input: self.raw_input(),
        }
    }

    pub(crate) fn object(&self) -> Object<'_> {
        Object::from_json(self.as_str()).unwrap_or_default()
    }

    pub(crate) fn kind(&self) -> Kind {
        self.borrowed().kind()
    }

    /// Returns whether the block is visible. Thinking and empty texts are not, since clients may omit them.
    pub(crate) fn is_counted(&self) -> bool {
        self.borrowed().is_counted()
    }

    /// Returns the received text of a call's arguments, if it is not a JSON object.
    pub(crate) fn raw_input(&self) -> Option<&str> {
        self.raw_input.as_ref().map(|raw| raw.as_str())
    }

    /// Estimates the size of the block in memory, in bytes.
    pub(crate) fn size(&self) -> usize {
        size_of::<Self>()
            + TEXT_BYTES
            + self.as_str().len()
            + self.raw_input.as_ref().map_or(0, |raw| raw.len())
    }

    /// Returns whether the blocks are ranges of one shared text.
    pub(crate) fn shares_text(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.text, &other.text)
    }

    /// Copies blocks out of a shared text if a large part of the text is unused, so that they do not keep a whole response in memory.
    pub(crate) fn shrink(blocks: &mut [Self]) {
        for shared in blocks.chunk_by_mut(Self::shares_text) {
            let len: usize = shared.iter().map(|block| block.as_str().len()).sum();
            let text = shared.first().map_or(0, |block| block.text.len());
            if text.saturating_sub(len) <= len / 8 + 64 {
                continue;
            }
            for block in shared {
                *block = Self {
                    raw_input: block.raw_input.take(),
                    ..Self::new(block.as_str())
                };
            }
        }
    }

    /// Returns the call with repaired arguments, if the arguments are almost JSON, such as a Python dict.
    pub(crate) fn repaired(&self) -> Self {
        let Some(raw) = &self.raw_input else {
            return self.clone();
        };
        let repaired = tool_runtime::repair::repair(raw);
        let tool = self.object().string("name").unwrap_or_default();
        let input = Some(&*repaired.text)
            .filter(|text| !repaired.names_other_tool(&tool) && Object::parse(text).is_ok());
        let mut text = String::with_capacity(self.as_str().len() + raw.len());
        self.object().write(&mut text, |name, _| {
            Some(match input {
                Some(input) if name == "input" => Change::To(input),
                _ => Change::Keep,
            })
        });
        Self::new(text)
    }

    /// Returns whether the block is thinking. Thinking is valid only after the exact messages that preceded it.
    pub(crate) fn is_thinking(&self) -> bool {
        self.borrowed().is_thinking()
    }

    /// Returns whether the block, which has this kind, is a text of only white space, which the API does not accept in requests.
    pub(crate) fn is_blank_text(&self, kind: Kind) -> bool {
        let text = match kind {
            Kind::EmptyText => return true,
            Kind::Text => self.as_str(),
            _ => return false,
        };
        // In the notation of the API, the first character is usually sufficient.
        let text = text.strip_prefix(r#"{"type":"text","text":""#);
        let first = text.and_then(|text| text.chars().next());
        if first.is_some_and(|first| !first.is_whitespace() && !matches!(first, '"' | '\\')) {
            return false;
        }
        let text = self.object().string("text");
        text.is_some_and(|text| text.trim().is_empty())
    }

    /// Returns the call with an object as `input`, which the API requires in requests. A string is parsed as JSON, and a missing value or
    /// `null` becomes an empty object. Of other arguments, the block keeps the text separately.
    pub(crate) fn with_object_input(self) -> Self {
        if !self.kind().is_call() || self.raw_input.is_some() {
            return self;
        }
        let object = self.object();
        let input = object.get("input").unwrap_or("null");
        if input.starts_with('{') {
            return self;
        }
        let text = match input {
            "null" => Cow::Borrowed(""),
            input => walk::string(input).unwrap_or(Cow::Borrowed(input)),
        };
        let arguments = text.trim();
        let is_object = Object::parse(arguments).is_ok();
        let input = if is_object { arguments } else { "{}" };
        let block = Self::new(set_field(self.as_str(), "input", input));
        if is_object || arguments.is_empty() {
            return block;
        }
        block.with_raw_input(text.into_owned())
    }

    /// Returns the call of a `tool_use` block; `None` for other blocks.
    pub(crate) fn tool_use(&self) -> Option<ToolUse> {
        self.borrowed().tool_use()
    }

    /// Returns a copy with another value of a string field, such as a call's id.
    pub(crate) fn with_string(&self, field: &str, value: &str) -> Self {
        self.borrowed().with_string(field, value)
    }
}

impl AsRef<str> for Block {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

/// A block in stored records: its exact JSON, and the text of arguments that are not a JSON object.
#[derive(Serialize, Deserialize)]
struct StoredBlock<Json, Text> {
    json: Json,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    raw_input: Option<Text>,
}

impl Serialize for Block {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json: &RawValue = serde_json::from_str(self.as_str()).map_err(S::Error::custom)?;
        let raw_input = self.raw_input();
        StoredBlock { json, raw_input }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let StoredBlock { json, raw_input } =
            StoredBlock::<Box<RawValue>, String>::deserialize(deserializer)?;
        Ok(Self {
            raw_input: raw_input.map(Arc::new),
            ..Self::new(Box::<str>::from(json))
        })
    }
}

/// A call in an assistant message (`ToolUseInfo` in requirements 004).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolUse {
    pub(crate) id: String,
    pub(crate) name: String,
    /// Arguments as JSON text.
    pub(crate) input: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_blocks_round_trip() {
        let text = r#"{"type":"tool_use","id":"a","name":"n","input":{"x" : 1.0}}"#;
        let malformed = Block::new(text).with_raw_input("{'x': 1.0}".to_owned());
        for block in [Block::new(text), malformed] {
            let stored = serde_json::to_vec(&block).unwrap();
            assert_eq!(serde_json::from_slice::<Block>(&stored).unwrap(), block);
        }
    }

    #[test]
    fn arguments_of_calls_become_objects() {
        for (sent, input, raw) in [
            ("", "{}", None),
            (r#","input":null"#, "{}", None),
            (r#","input":"""#, "{}", None),
            (r#","input":"{\"x\": 1.0}""#, r#"{"x": 1.0}"#, None),
            (r#","input":"{'x': 1}""#, "{}", Some("{'x': 1}")),
            (r#","input":[1]"#, "{}", Some("[1]")),
            (r#","input":{"x": 1.0}"#, r#"{"x": 1.0}"#, None),
        ] {
            for kind in ["tool_use", "server_tool_use"] {
                let block = Block::new(format!(r#"{{"type":"{kind}","id":"a","name":"n"{sent}}}"#));
                let block = block.with_object_input();
                assert_eq!(
                    (block.object().get("input"), block.raw_input()),
                    (Some(input), raw),
                    "{sent}"
                );
            }
        }
        let other = Block::new(r#"{"type":"later","input":5}"#);
        assert_eq!(other.clone().with_object_input(), other);
    }

    #[test]
    fn texts_of_white_space_are_blank() {
        for (block, expected) in [
            (r#"{"type":"text","text":""}"#, true),
            (r#"{"type":"text","text":"\n\u00a0"}"#, true),
            (r#"{"type":"text","text":null}"#, true),
            (r#"{"type":"text","text":" a"}"#, false),
            (r#"{"type":"text","text":"\ud800"}"#, false),
            (r#"{"type":"thinking","thinking":""}"#, false),
        ] {
            let block = Block::new(block);
            assert_eq!(block.is_blank_text(block.kind()), expected, "{block:?}");
        }
    }

    #[test]
    fn keeps_the_text_of_arguments_under_another_id() {
        let block = Block::new(r#"{"type":"tool_use","id":"a","name":"n","input":{"x" : 1.0}}"#);
        let other = block.with_string("id", "b");
        assert_eq!(
            other.as_str(),
            r#"{"type":"tool_use","id":"b","name":"n","input":{"x" : 1.0}}"#
        );
        assert_eq!(other.tool_use().unwrap().input, r#"{"x" : 1.0}"#);
    }
}
