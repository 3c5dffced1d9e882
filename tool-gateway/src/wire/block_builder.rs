//! [`BlockBuilder`]: builds a content block from the events of a stream.

use serde_json::{Map, Value};

use super::block::Block;
use super::delta::{Delta, TextField};
use super::object::{Object, push_name, push_string};

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
            return Block::new(written(&self.fields, Some("{}"))).with_raw_input(self.input);
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
}
