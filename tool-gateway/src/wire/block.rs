//! Content blocks as the upstream sends them: whole, or built from the events of a stream.

use std::sync::{Arc, OnceLock};

use serde::de::Deserializer;
use serde::ser::{Error as _, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::delta::{Delta, TextField};
use super::object::{Change, Object, push_name, push_string};

/// A content block as JSON text. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    json: Arc<Json>,
    /// The arguments of a call as they arrived, if they are not a JSON object.
    raw_input: Option<Arc<str>>,
}

/// The text of a block, and what it is, which is asked for several times.
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

/// What a block is, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    EmptyText,
    Thinking,
    ToolUse,
    Other,
}

impl Kind {
    fn of(object: &Object<'_>) -> Self {
        match object.string("type").as_deref() {
            Some("thinking" | "redacted_thinking") => Self::Thinking,
            Some("tool_use") => Self::ToolUse,
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

    /// A text block.
    pub(crate) fn text(text: &str) -> Self {
        let mut json = r#"{"type":"text","text":"#.to_owned();
        push_string(&mut json, text);
        json.push('}');
        Self::new(json)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.json.text
    }

    fn object(&self) -> Object<'_> {
        Object::parse(&self.json.text).unwrap_or_default()
    }

    fn kind(&self) -> Kind {
        *self.json.kind.get_or_init(|| Kind::of(&self.object()))
    }

    /// Whether it counts among the visible ones: clients may leave out thinking and empty texts.
    pub(crate) fn is_counted(&self) -> bool {
        !matches!(self.kind(), Kind::Thinking | Kind::EmptyText)
    }

    /// The arguments of a call as they arrived, if they are not a JSON object.
    pub(crate) fn raw_input(&self) -> Option<&str> {
        self.raw_input.as_deref()
    }

    /// A call with its arguments as JSON, if they arrived as something that is almost JSON, such as a Python dict.
    pub(crate) fn repaired(&self) -> Self {
        let Some(raw) = &self.raw_input else {
            return self.clone();
        };
        let repaired = tool_runtime::repair::repair(raw);
        let input = Some(&*repaired.text).filter(|text| Object::parse(text).is_ok());
        let mut text = String::with_capacity(self.json.text.len() + raw.len());
        self.object().write(&mut text, |name, _| {
            Some(match input {
                Some(input) if name == "input" => Change::To(input),
                _ => Change::Keep,
            })
        });
        Self::new(text)
    }

    /// Whether the block is thinking, which belongs to the exact messages before it.
    pub(crate) fn is_thinking(&self) -> bool {
        self.kind() == Kind::Thinking
    }

    /// The block without its mark for the cache.
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

    /// The call, if the block is one.
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

    /// The same block with another value of a string field, such as a call's id.
    pub(crate) fn with_string(&self, field: &str, value: &str) -> Self {
        let mut json = String::new();
        push_string(&mut json, value);
        let mut text = String::with_capacity(self.json.text.len() + json.len());
        self.object().write(&mut text, |name, _| {
            Some(if name == field {
                Change::To(&json)
            } else {
                Change::Keep
            })
        });
        Self {
            raw_input: self.raw_input.clone(),
            ..Self::new(text)
        }
    }
}

/// A block as stores keep it: its JSON byte for byte, and beside it what only the block has.
#[derive(Serialize, Deserialize)]
struct Stored<Json, Text> {
    json: Json,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    raw_input: Option<Text>,
}

impl Serialize for Block {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json: &RawValue = serde_json::from_str(self.as_str()).map_err(S::Error::custom)?;
        let raw_input = self.raw_input();
        Stored { json, raw_input }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Stored { json, raw_input } = Stored::<Box<RawValue>, Box<str>>::deserialize(deserializer)?;
        Ok(Self {
            raw_input: raw_input.map(Arc::from),
            ..Self::new(Box::<str>::from(json))
        })
    }
}

/// A call in a message of the model (`ToolUseInfo` in requirements 004).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolUse {
    pub(crate) id: String,
    pub(crate) name: String,
    /// The arguments as JSON text.
    pub(crate) input: String,
}

/// A block of a stream: its start, and the deltas so far.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BlockBuilder {
    fields: Map<String, Value>,
    /// The text that arrives, which is not in its field yet.
    text: Option<(TextField, String)>,
    /// The text of `input`, which arrives in pieces of JSON.
    input: String,
}

impl BlockBuilder {
    /// Begins with the `content_block` of the start event.
    pub(crate) fn new(start: Map<String, Value>) -> Self {
        Self {
            fields: start,
            text: None,
            input: String::new(),
        }
    }

    /// Adds a delta. One of an unknown type changes the fields that it names: text is appended, all else is set.
    pub(crate) fn push(&mut self, delta: &Delta) {
        let fields = match delta {
            Delta::Text(field, piece) => return self.push_text(*field, piece),
            Delta::Texts(run) => return self.push_text(run.field, &run.text),
            Delta::Other(fields) => fields,
        };
        self.close_text();
        for (field, value) in fields {
            match (field.as_str(), value) {
                ("type", _) => {}
                ("citation", citation) => {
                    if let Some(Value::Array(citations)) = self.fields.get_mut("citations") {
                        citations.push(citation.clone());
                    } else {
                        let citations = Value::Array(vec![citation.clone()]);
                        self.fields.insert("citations".to_owned(), citations);
                    }
                }
                ("partial_json", Value::String(piece)) => self.input.push_str(piece),
                (field, Value::String(piece)) => match self.fields.get_mut(field) {
                    Some(Value::String(text)) => text.push_str(piece),
                    _ => {
                        self.fields.insert(field.to_owned(), piece.as_str().into());
                    }
                },
                (field, value) => {
                    self.fields.insert(field.to_owned(), value.clone());
                }
            }
        }
    }

    /// Appends to a text.
    pub(super) fn push_text(&mut self, field: TextField, piece: &str) {
        if field == TextField::PartialJson {
            return self.input.push_str(piece);
        }
        if let Some((open, text)) = &mut self.text
            && *open == field
        {
            return text.push_str(piece);
        }
        self.close_text();
        let mut text = match self.fields.get_mut(field.as_str()).map(Value::take) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        text.push_str(piece);
        self.text = Some((field, text));
    }

    /// Puts the text that has arrived into its field.
    fn close_text(&mut self) {
        if let Some((field, text)) = self.text.take() {
            self.fields.insert(field.as_str().to_owned(), text.into());
        }
    }

    /// The whole block. Arguments that are not a JSON object, as of a call that was cut off, are an empty object, since no API
    /// takes them back otherwise; the call has them as they arrived.
    pub(crate) fn finish(mut self) -> Block {
        self.close_text();
        let input = self.input.trim();
        if input.is_empty() {
            return Block::new(written(&self.fields, None));
        }
        self.fields.entry("input").or_insert(Value::Null);
        if Object::parse(&self.input).is_err() {
            let mut block = Block::new(written(&self.fields, Some("{}")));
            block.raw_input = Some(self.input.into());
            return block;
        }
        Block::new(written(&self.fields, Some(input)))
    }
}

/// The text of a block with these fields, and this as its `input` if there is one.
fn written(fields: &Map<String, Value>, input: Option<&str>) -> String {
    let mut out = "{".to_owned();
    for (name, value) in fields {
        push_name(&mut out, name);
        match (input, value) {
            (Some(input), _) if name == "input" => out.push_str(input),
            (_, Value::String(text)) => push_string(&mut out, text),
            (_, value) => out.push_str(&value.to_string()),
        }
    }
    out.push('}');
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn built(start: Value, deltas: &[Value]) -> String {
        let Value::Object(start) = start else {
            panic!("{start}")
        };
        let mut builder = BlockBuilder::new(start);
        for delta in deltas {
            builder.push(&delta.as_object().unwrap().clone().into());
        }
        builder.finish().as_str().to_owned()
    }

    #[test]
    fn builds_every_kind_of_block() {
        let text = json!({ "type": "text", "text": "", "citations": null });
        let deltas = [
            json!({ "type": "text_delta", "text": "a" }),
            json!({ "type": "citations_delta", "citation": { "n": 1 } }),
            json!({ "type": "text_delta", "text": "b" }),
        ];
        assert_eq!(
            built(text, &deltas),
            r#"{"type":"text","text":"ab","citations":[{"n":1}]}"#
        );
        let thinking = json!({ "type": "thinking", "thinking": "", "signature": "" });
        let signature = json!({ "type": "signature_delta", "signature": "s" });
        assert_eq!(
            built(thinking, &[signature]),
            r#"{"type":"thinking","thinking":"","signature":"s"}"#
        );
        let call = json!({ "type": "tool_use", "id": "t", "name": "n", "input": {} });
        let pieces = ["", "{\"a\": 1.", "50}"]
            .map(|piece| json!({ "type": "input_json_delta", "partial_json": piece }));
        assert_eq!(
            built(call.clone(), &pieces),
            r#"{"type":"tool_use","id":"t","name":"n","input":{"a": 1.50}}"#
        );
        assert_eq!(
            built(call, &[]),
            r#"{"type":"tool_use","id":"t","name":"n","input":{}}"#
        );
    }

    #[test]
    fn invalid_arguments_are_kept_for_the_call_only() {
        for piece in ["{\"a\": [1", "{'a': True}", "[1]"] {
            let start = json!({ "type": "tool_use", "id": "t", "name": "n", "input": {} });
            let mut builder = BlockBuilder::new(start.as_object().cloned().unwrap());
            let delta = json!({ "type": "input_json_delta", "partial_json": piece });
            builder.push(&delta.as_object().unwrap().clone().into());
            let block = builder.finish();
            assert_eq!(block.as_str(), start.to_string());
            assert_eq!(block.tool_use().unwrap().input, piece);
        }
    }

    #[test]
    fn a_stored_block_is_the_same() {
        let text = r#"{"type":"tool_use","id":"a","name":"n","input":{"x" : 1.0}}"#;
        let malformed = Block {
            raw_input: Some("{'x': 1.0}".into()),
            ..Block::new(text)
        };
        for block in [Block::new(text), malformed] {
            let stored = serde_json::to_vec(&block).unwrap();
            assert_eq!(serde_json::from_slice::<Block>(&stored).unwrap(), block);
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
