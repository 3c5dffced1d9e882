//! Corrections of an `enum` whose values do not have the type of the schema.

use serde_json::{Map, Value};

use super::subschema::CorrectedSchema;
use crate::schema::check::limits;
use crate::schema::compiled::types::{Types, declared_types};

impl CorrectedSchema<'_> {
    /// Moves an `enum` of scalars on an array to its items, since an array cannot have one of these values. A `null` in
    /// the `enum` becomes a value of the type.
    pub(super) fn move_to_items(&mut self) {
        if self.is_condition {
            return;
        }
        let keywords = &mut *self.keywords;
        let types = declared_types(keywords);
        let is_array = types.has(Types::ARRAY) && types.without(Types::ARRAY | Types::NULL) == Types::NONE;
        let Some(Value::Array(values)) = keywords.get("enum") else {
            return;
        };
        let is_of_item = |value: &&Value| !(value.is_null() && types.has(Types::NULL));
        let values: Vec<Value> = values.iter().filter(is_of_item).cloned().collect();
        let is_scalar = |value: &Value| value.is_string() || value.is_number() || value.is_boolean();
        if !is_array
            || values.is_empty()
            || !values.iter().all(is_scalar)
            || keywords.contains_key("prefixItems")
        {
            return;
        }
        let mut items = match keywords.get("items") {
            None | Some(Value::Bool(true)) => Map::new(),
            Some(Value::Object(items)) => items.clone(),
            Some(_) => return,
        };
        let composing = ["$ref", "allOf", "anyOf", "oneOf", "const"];
        let has_values = items
            .get("enum")
            .is_some_and(|own| *own != Value::Array(values.clone()));
        if has_values || composing.into_iter().any(|keyword| items.contains_key(keyword)) {
            return;
        }
        let allowed = declared_types(&items);
        if !values.iter().all(|value| allowed.has(limits::type_of(value))) {
            return;
        }
        if values.iter().all(Value::is_string) {
            items.entry("type").or_insert_with(|| "string".into());
        }
        keywords.shift_remove("enum");
        items.insert("enum".to_owned(), values.into());
        keywords.insert("items".to_owned(), items.into());
        self.warn("enum", "the values of an array were read as those of its items");
    }

    /// Parses the texts of an `enum` as values of the type: some APIs only allow an `enum` of strings. Other scalars of
    /// the type are kept.
    pub(super) fn parse_texts(&mut self) {
        if self.is_condition {
            return;
        }
        let types = declared_types(self.keywords);
        if types.overlaps(Types::STRING) || !types.overlaps(Types::NUMBER | Types::BOOLEAN) {
            return;
        }
        let Some(Value::Array(texts)) = self.keywords.get("enum") else {
            return;
        };
        let parse = |value: &Value| {
            if types.has(limits::type_of(value)) {
                return (!value.is_array() && !value.is_object()).then(|| value.clone());
            }
            let value: Value = serde_json::from_str(value.as_str()?).ok()?;
            let is_scalar = value.is_number() || value.is_boolean();
            (is_scalar && types.has(limits::type_of(&value))).then_some(value)
        };
        let Some(values) = texts.iter().map(parse).collect::<Option<Vec<Value>>>() else {
            return;
        };
        if values != *texts {
            self.keywords.insert("enum".to_owned(), values.into());
            self.warn(
                "enum",
                format!("the texts were read as values of the type: {types}"),
            );
        }
    }
}
