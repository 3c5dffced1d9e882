//! [`ReasoningDetails`]: the items of `reasoning_details`, which the server needs again.

use serde_json::value::RawValue;

use crate::wire::object::{Object, push_string, set_field};

/// Items of `reasoning_details`. The pieces of an item in a stream are joined.
#[derive(Debug, Default)]
pub(super) struct ReasoningDetails(Vec<ReasoningDetail>);

#[derive(Debug)]
struct ReasoningDetail {
    /// The first piece.
    first: String,
    /// Texts of the first and the later pieces, if there are later pieces.
    texts: Vec<DetailText>,
    /// Other fields of later pieces, in JSON's form.
    others: Vec<(String, String)>,
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
        if let Some(last) = self.0.last_mut()
            && last.is_continued(detail)
        {
            return last.append(detail);
        }
        self.0.push(ReasoningDetail {
            first: detail.to_owned(),
            texts: Vec::new(),
            others: Vec::new(),
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

impl ReasoningDetail {
    /// Returns whether a piece has the index and the type of this item, and a text.
    fn is_continued(&self, piece: &str) -> bool {
        let [first, piece] = [&self.first, piece].map(|json| Object::from_json(json).unwrap_or_default());
        let is_same = |name: &str| first.get(name) == piece.get(name);
        let has_text = |object: Object<'_>| TEXTS.iter().any(|field| object.text(field).is_some());
        let has_index = first.get("index").is_some_and(|index| index != "null");
        has_index && is_same("index") && is_same("type") && has_text(first) && piece.get("data").is_none()
    }

    fn append(&mut self, piece: &str) {
        if self.texts.is_empty() {
            let first = Object::from_json(&self.first).unwrap_or_default();
            let texts = TEXTS.into_iter().filter_map(|field| {
                let text = first.string(field)?;
                Some(DetailText { field, text })
            });
            self.texts = texts.collect();
        }
        let piece = Object::from_json(piece).unwrap_or_default();
        for field in piece.fields().filter(|field| field.value != "null") {
            let text = self.texts.iter_mut().find(|text| field.is(text.field));
            if let (Some(text), Some(next)) = (text, piece.text(&field.name())) {
                text.text.push_str(&next);
            } else {
                let name = field.name().into_owned();
                self.others.retain(|(other, _)| *other != name);
                self.others.push((name, field.value.to_owned()));
            }
        }
    }

    fn into_json(self) -> String {
        let Self {
            mut first,
            texts,
            others,
        } = self;
        for DetailText { field, text } in texts {
            let mut json = String::with_capacity(text.len() + 2);
            push_string(&mut json, &text);
            first = set_field(&first, field, &json);
        }
        for (name, value) in others {
            first = set_field(&first, &name, &value);
        }
        first
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
}
