//! [`BlockBuilder`]: builds a content block from the events of a stream.

use std::borrow::Cow;

use super::block::Block;
use super::delta::{Delta, TextField};
use super::fields::RawFields;
use super::object::{Object, push_string};
use super::surrogates::without_halves;
use super::walk;

/// Block of a stream: its start, with all received deltas. Values that no delta changes keep their text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BlockBuilder {
    start: Block,
    /// Fields of the block; `None` as long as all fields equal the start.
    fields: Option<RawFields>,
    /// Joined pieces of a text that were not yet appended to their field.
    text: Option<(TextField, String)>,
    /// Joined pieces of the JSON text of `input`.
    input: String,
}

impl BlockBuilder {
    /// Creates a builder from the `content_block` of the start event.
    pub(crate) fn new(start: Block) -> Self {
        Self {
            start,
            fields: None,
            text: None,
            input: String::new(),
        }
    }

    /// Adds a delta. A delta of unknown type changes the fields that it names: strings are appended, other values are set.
    pub(crate) fn push(&mut self, delta: &Delta) {
        let delta = match delta {
            Delta::Text(field, piece) => return self.push_text(*field, piece),
            Delta::Texts(run) => return run.pieces().for_each(|piece| self.push_text(run.field, &piece)),
            Delta::Other(delta) => delta.object(),
        };
        self.close_text();
        for field in delta.last_of_each() {
            let value = field.value;
            match &*field.name() {
                "type" => {}
                "citation" => append_to_list(self.fields().value("citations"), value),
                "partial_json" if value.starts_with('"') => {
                    self.input.push_str(&walk::string(value).unwrap_or_default());
                }
                field => append_to_string(self.fields().value(field), value),
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
        self.text = Some((field, piece.to_owned()));
    }

    /// Moves the collected text to its field.
    fn close_text(&mut self) {
        if let Some((field, text)) = self.text.take() {
            let mut json = String::with_capacity(text.len() + 2);
            push_string(&mut json, &text);
            append_to_string(self.fields().value(field.as_str()), &json);
        }
    }

    fn fields(&mut self) -> &mut RawFields {
        let Self { start, fields, .. } = self;
        fields.get_or_insert_with(|| start.object().into())
    }

    /// Builds the whole block. Arguments that are not a JSON object, such as truncated arguments, become an empty object, since no API
    /// accepts other values. The block keeps the text of the arguments separately.
    pub(crate) fn finish(mut self) -> Block {
        self.close_text();
        let input = std::mem::take(&mut self.input);
        let arguments = input.trim();
        if arguments.is_empty() {
            return self.written();
        }
        if Object::parse(arguments).is_ok() {
            self.fields().set("input", arguments);
            return self.written();
        }
        self.fields().set("input", "{}");
        self.written().with_raw_input(input)
    }

    fn written(self) -> Block {
        let block = self
            .fields
            .map_or(self.start, |fields| Block::new(fields.to_json()));
        // JSON parsers reject a lone surrogate, so a block with a lone surrogate could not be sent back.
        match without_halves(block.as_str()) {
            Cow::Borrowed(_) => block,
            Cow::Owned(text) => Block::new(text),
        }
    }
}

/// Appends a piece to a string. The value and the piece are JSON texts. If one of them is not a string, the piece replaces the value. The
/// texts are not decoded, so that the surrogates of a pair that was split between them form a character again.
fn append_to_string(value: &mut String, piece: &str) {
    match piece.strip_prefix('"') {
        Some(rest) if value.starts_with('"') => {
            value.pop();
            value.push_str(rest);
        }
        _ => piece.clone_into(value),
    }
}

/// Appends an item to a list. The value and the item are JSON texts. A value that is not a list is replaced by a list with the item.
fn append_to_list(value: &mut String, item: &str) {
    if value.starts_with('[') {
        value.pop();
        value.truncate(value.trim_end().len());
    } else {
        "[".clone_into(value);
    }
    if value != "[" {
        value.push(',');
    }
    value.push_str(item);
    value.push(']');
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::wire::fields::ObjectText;

    fn built(start: &Value, deltas: &[Value]) -> String {
        let mut builder = BlockBuilder::new(Block::new(start.to_string()));
        for delta in deltas {
            builder.push(&ObjectText::new(&delta.to_string()).unwrap().into());
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
            built(&text, &deltas),
            r#"{"type":"text","text":"ab","citations":[{"n":1}]}"#
        );
        let thinking = json!({ "type": "thinking", "thinking": "", "signature": "" });
        let signature = json!({ "type": "signature_delta", "signature": "s" });
        assert_eq!(
            built(&thinking, &[signature]),
            r#"{"type":"thinking","thinking":"","signature":"s"}"#
        );
        let call = json!({ "type": "tool_use", "id": "t", "name": "n", "input": {} });
        let pieces = ["", "{\"a\": 1.", "50}"]
            .map(|piece| json!({ "type": "input_json_delta", "partial_json": piece }));
        assert_eq!(
            built(&call, &pieces),
            r#"{"type":"tool_use","id":"t","name":"n","input":{"a": 1.50}}"#
        );
        assert_eq!(
            built(&call, &[]),
            r#"{"type":"tool_use","id":"t","name":"n","input":{}}"#
        );
    }

    #[test]
    fn keeps_invalid_arguments_beside_an_empty_object() {
        for piece in ["{\"a\": [1", "{'a': True}", "[1]"] {
            let start = json!({ "type": "tool_use", "id": "t", "name": "n", "input": {} });
            let mut builder = BlockBuilder::new(Block::new(start.to_string()));
            let delta = json!({ "type": "input_json_delta", "partial_json": piece });
            builder.push(&ObjectText::new(&delta.to_string()).unwrap().into());
            let block = builder.finish();
            assert_eq!(block.as_str(), start.to_string());
            assert_eq!(block.tool_use().unwrap().input, piece);
        }
    }
    #[test]
    fn values_keep_their_text() {
        let start = r#"{"type":"later", "a":1.50,"list":[1.0],"text":"\ud83d","n":0}"#;
        let unchanged = BlockBuilder::new(Block::new(start)).finish();
        // A lone surrogate is replaced.
        assert_eq!(unchanged.as_str(), start.replace(r"\ud83d", r"\ufffd"));
        let mut builder = BlockBuilder::new(Block::new(start));
        for delta in [
            r#"{"type":"later_delta","text":"\ude00","n":2.50}"#,
            r#"{"type":"later_delta","new":1e999,"citation":{"x": 1.0}}"#,
            r#"{"type":"text_delta","text":"!"}"#,
            r#"{"type":"later_delta","citation":2.0,"list":"a","partial_json":"{\"x\": 1.0}"}"#,
        ] {
            builder.push(&ObjectText::new(delta).unwrap().into());
        }
        assert_eq!(
            builder.finish().as_str(),
            r#"{"type":"later","a":1.50,"list":"a","text":"\ud83d\ude00!","n":2.50,"new":1e999,"citations":[{"x": 1.0},2.0],"input":{"x": 1.0}}"#
        );
    }
}
