//! [`Block`]: a content block as the upstream sends it.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use serde::de::Deserializer;
use serde::ser::{Error as _, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::object::{Change, Object, push_string, set_field, unquoted};

/// A content block as JSON text. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    json: Arc<Json>,
    /// Arguments of a call as they arrived, if they are not a JSON object.
    raw_input: Option<Arc<str>>,
}

/// Text of a block, with its kind, which is read several times.
#[derive(Debug)]
struct Json {
    text: String,
    kind: OnceLock<Kind>,
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Json {}

/// Kind of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    EmptyText,
    Thinking,
    ToolUse,
    /// A call that the upstream runs itself.
    ServerToolUse,
    Other,
}

impl Kind {
    fn from_object(object: &Object<'_>) -> Self {
        match object.string("type").as_deref() {
            Some("thinking" | "redacted_thinking") => Self::Thinking,
            Some("tool_use") => Self::ToolUse,
            Some("server_tool_use" | "mcp_tool_use") => Self::ServerToolUse,
            Some("text") => match object.get("text") {
                Some(text) if text.len() > 2 && text.starts_with('"') => Self::Text,
                _ => Self::EmptyText,
            },
            _ => Self::Other,
        }
    }
}

impl Block {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self {
            json: Arc::new(Json {
                text: text.into(),
                kind: OnceLock::new(),
            }),
            raw_input: None,
        }
    }

    /// Creates a call whose arguments are not a JSON object.
    pub(super) fn with_raw_input(self, raw_input: String) -> Self {
        Self {
            raw_input: Some(raw_input.into()),
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
        &self.json.text
    }

    pub(crate) fn object(&self) -> Object<'_> {
        Object::parse(&self.json.text).unwrap_or_default()
    }

    fn kind(&self) -> Kind {
        *self.json.kind.get_or_init(|| Kind::from_object(&self.object()))
    }

    /// Returns whether the block counts as visible: clients may omit thinking and empty texts.
    pub(crate) fn is_counted(&self) -> bool {
        !matches!(self.kind(), Kind::Thinking | Kind::EmptyText)
    }

    /// Returns the text of a text block, unless it is empty.
    pub(crate) fn text_value(&self) -> Option<Cow<'_, str>> {
        (self.kind() == Kind::Text).then(|| self.object().text("text"))?
    }

    /// Returns the arguments of a call as they arrived, if they are not a JSON object.
    pub(crate) fn raw_input(&self) -> Option<&str> {
        self.raw_input.as_deref()
    }

    /// Estimates the size of the block in memory, in bytes.
    pub(crate) fn size(&self) -> usize {
        // The block, the text with its counters, and the overhead of allocations.
        let own = size_of::<Self>() + size_of::<Json>() + 64;
        own + self.json.text.capacity() + self.raw_input.as_ref().map_or(0, |raw| raw.len())
    }

    /// Frees the memory that the text does not need.
    pub(crate) fn shrink(&mut self) {
        let text = &self.json.text;
        if text.capacity() - text.len() <= text.len() / 8 + 64 {
            return;
        }
        self.json = Arc::new(Json {
            text: text.as_str().to_owned(),
            kind: self.json.kind.clone(),
        });
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
        let mut text = String::with_capacity(self.json.text.len() + raw.len());
        self.object().write(&mut text, |name, _| {
            Some(match input {
                Some(input) if name == "input" => Change::To(input),
                _ => Change::Keep,
            })
        });
        Self::new(text)
    }

    /// Returns whether the block is thinking, which is valid only after the exact messages before it.
    pub(crate) fn is_thinking(&self) -> bool {
        self.kind() == Kind::Thinking
    }

    /// Returns whether the block is a text of only white space, which the API does not accept in requests.
    pub(crate) fn is_blank_text(&self) -> bool {
        let text = match self.kind() {
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

    /// Returns the call with an object as `input`, which the API requires in requests: a string is parsed as JSON, and a missing value or
    /// `null` means no arguments. The block keeps the text of other arguments separately.
    pub(crate) fn with_object_input(self) -> Self {
        if !matches!(self.kind(), Kind::ToolUse | Kind::ServerToolUse) || self.raw_input.is_some() {
            return self;
        }
        let object = self.object();
        let input = object.get("input").unwrap_or("null");
        if input.starts_with('{') {
            return self;
        }
        let text = match input {
            "null" => Cow::Borrowed(""),
            input => unquoted(input).unwrap_or(Cow::Borrowed(input)),
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

    /// Returns the block without its cache mark.
    pub(crate) fn without_mark(&self) -> Self {
        if self.object().get("cache_control").is_none() {
            return self.clone();
        }
        let mut text = String::with_capacity(self.json.text.len());
        self.object().write(&mut text, |name, _| {
            (name != "cache_control").then_some(Change::Keep)
        });
        Self {
            raw_input: self.raw_input.clone(),
            ..Self::new(text)
        }
    }

    /// Returns the call, if the block is one.
    pub(crate) fn tool_use(&self) -> Option<ToolUse> {
        if self.kind() != Kind::ToolUse {
            return None;
        }
        let object = self.object();
        Some(ToolUse {
            id: object.string("id").unwrap_or_default(),
            name: object.string("name").unwrap_or_default(),
            input: self
                .raw_input
                .as_deref()
                .or_else(|| object.get("input"))
                .unwrap_or("{}")
                .to_owned(),
        })
    }

    /// Returns a copy with another value of a string field, such as the id of a call.
    pub(crate) fn with_string(&self, field: &str, value: &str) -> Self {
        let mut json = String::new();
        push_string(&mut json, value);
        Self {
            raw_input: self.raw_input.clone(),
            ..Self::new(set_field(self.as_str(), field, &json))
        }
    }
}

/// A block in stored records: its exact JSON, and arguments that are not JSON.
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
            StoredBlock::<Box<RawValue>, Box<str>>::deserialize(deserializer)?;
        Ok(Self {
            raw_input: raw_input.map(Arc::from),
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
    fn a_stored_block_is_the_same() {
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
            assert_eq!(Block::new(block).is_blank_text(), expected, "{block}");
        }
    }

    #[test]
    fn a_call_keeps_the_text_of_its_arguments_under_another_id() {
        let block = Block::new(r#"{"type":"tool_use","id":"a","name":"n","input":{"x" : 1.0}}"#);
        let other = block.with_string("id", "b");
        assert_eq!(
            other.as_str(),
            r#"{"type":"tool_use","id":"b","name":"n","input":{"x" : 1.0}}"#
        );
        assert_eq!(other.tool_use().unwrap().input, r#"{"x" : 1.0}"#);
    }
}
