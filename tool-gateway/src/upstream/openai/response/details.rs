//! [`ReasoningDetails`]: the items of `reasoning_details`, which the server needs again.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde_json::value::RawValue;

use crate::wire::object::{Change, Object, push_name, push_string};
use crate::wire::walk;

/// Items of `reasoning_details`. The pieces of an item in a stream are joined.
#[derive(Debug, Default)]
pub(super) struct ReasoningDetails(Vec<ReasoningDetail>);

#[derive(Debug)]
struct ReasoningDetail {
    /// The first piece.
    first: String,
    /// `None` if no later piece continues the item.
    key: Option<DetailKey>,
    /// Texts of the first and the later pieces, if there are later pieces.
    texts: Vec<DetailText>,
    /// Other fields of later pieces, in JSON's form, which are written once.
    others: IndexMap<String, String>,
}

/// Fields that the pieces of an item have in common, in JSON's form.
#[derive(Debug, PartialEq, Eq)]
struct DetailKey {
    index: String,
    kind: Option<String>,
}

/// A text that arrives in pieces.
#[derive(Debug)]
struct DetailText {
    field: &'static str,
    text: String,
}

/// Fields whose texts arrive in pieces.
const TEXTS: [&str; 2] = ["text", "summary"];

impl ReasoningDetails {
    /// Adds an item, or the next piece of the last one.
    pub(super) fn push(&mut self, detail: &str) {
        let piece = Object::from_json(detail).unwrap_or_default();
        let key = DetailKey::read(piece);
        if let Some(last) = self.0.last_mut()
            && key.is_some()
            && last.key == key
            && piece.get("data").is_none()
        {
            return last.append(piece);
        }
        let has_text = TEXTS.iter().any(|field| piece.text(field).is_some());
        self.0.push(ReasoningDetail {
            first: detail.to_owned(),
            key: key.filter(|_| has_text),
            texts: Vec::new(),
            others: IndexMap::new(),
        });
    }

    /// Returns the items. An item that came in one piece is unchanged.
    pub(super) fn into_items(self) -> Vec<Box<RawValue>> {
        let items = self.0.into_iter().map(ReasoningDetail::into_json);
        items
            .filter_map(|item| RawValue::from_string(item).ok())
            .collect()
    }
}

impl DetailKey {
    /// Reads the key of a piece; `None` without an index.
    fn read(piece: Object<'_>) -> Option<Self> {
        let [index, kind] = piece.get_all(["index", "type"]);
        let index = index.filter(|index| *index != "null")?.to_owned();
        let kind = kind.map(str::to_owned);
        Some(Self { index, kind })
    }
}

impl ReasoningDetail {
    fn append(&mut self, piece: Object<'_>) {
        if self.texts.is_empty() {
            let first = Object::from_json(&self.first).unwrap_or_default();
            let texts = TEXTS.into_iter().filter_map(|field| {
                let text = first.string(field)?;
                Some(DetailText { field, text })
            });
            self.texts = texts.collect();
        }
        for field in piece.last_of_each().filter(|field| field.value != "null") {
            let text = self.texts.iter_mut().find(|text| field.is(text.field));
            if let (Some(text), Some(next)) = (text, walk::string(field.value)) {
                text.text.push_str(&next);
            } else {
                self.others
                    .insert(field.name().into_owned(), field.value.to_owned());
            }
        }
    }

    fn into_json(self) -> String {
        let Self {
            first,
            texts,
            mut others,
            ..
        } = self;
        if texts.is_empty() {
            return first;
        }
        for DetailText { field, text } in texts {
            let mut json = String::with_capacity(text.len() + 2);
            push_string(&mut json, &text);
            others.entry(field.to_owned()).or_insert(json);
        }
        let mut written = HashSet::new();
        let mut item = String::with_capacity(first.len());
        let fields = Object::from_json(&first).unwrap_or_default();
        fields.write(&mut item, |name, _| {
            let Some((name, value)) = others.get_key_value(name) else {
                return Some(Change::Keep);
            };
            written.insert(name.as_str());
            Some(Change::To(value))
        });
        item.pop();
        for (name, value) in others.iter().filter(|(name, _)| !written.contains(name.as_str())) {
            push_name(&mut item, name);
            item.push_str(value);
        }
        item.push('}');
        item
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_one_index_are_joined_and_others_are_unchanged() {
        let mut details = ReasoningDetails::default();
        for piece in [
            r#"{"type":"reasoning.text","text":"a","index":0,"signature":null}"#,
            r#"{"type":"reasoning.text","text":"b\n","index":0}"#,
            r#"{"type":"reasoning.text","text":"","signature":"s","index":0}"#,
            r#"{"type":"reasoning.encrypted", "data":"x", "index":1}"#,
            r#"{"type":"reasoning.encrypted","data":"y","index":1}"#,
            r#"{"type":"reasoning.text","text":"c"}"#,
            r#"{"type":"reasoning.text","text":"d"}"#,
        ] {
            details.push(piece);
        }
        let items = details.into_items();
        let items: Vec<&str> = items.iter().map(|item| item.get()).collect();
        assert_eq!(
            items,
            [
                r#"{"type":"reasoning.text","text":"ab\n","index":0,"signature":"s"}"#,
                r#"{"type":"reasoning.encrypted", "data":"x", "index":1}"#,
                r#"{"type":"reasoning.encrypted","data":"y","index":1}"#,
                r#"{"type":"reasoning.text","text":"c"}"#,
                r#"{"type":"reasoning.text","text":"d"}"#,
            ]
        );
    }

    #[test]
    fn later_fields_replace_earlier_values() {
        let mut details = ReasoningDetails::default();
        for piece in [
            r#"{"type":"t","text":"a","index":0,"format":"f","id":null}"#,
            r#"{"text":"0","text":"b","index":0,"type":"t","z":1,"signature":"s","id":"i"}"#,
            r#"{"type":"t","index":0,"text":null,"summary":"n","z":2,"format":null}"#,
        ] {
            details.push(piece);
        }
        let items = details.into_items();
        assert_eq!(
            items[0].get(),
            r#"{"type":"t","text":"ab","index":0,"format":"f","id":"i","z":2,"signature":"s","summary":"n"}"#
        );
    }

    /// If the item were written once for each name, the test would take minutes.
    #[test]
    fn items_with_many_names_are_written_once() {
        let mut details = ReasoningDetails::default();
        details.push(r#"{"index":0,"text":""}"#);
        for name in 0..40_000 {
            details.push(&format!(r#"{{"index":0,"text":"a","n{name}":{name}}}"#));
        }
        let items = details.into_items();
        let item = Object::from_json(items[0].get()).unwrap();
        assert_eq!(item.fields().count(), 40_002);
        assert_eq!(item.get("n39999"), Some("39999"));
    }
}
