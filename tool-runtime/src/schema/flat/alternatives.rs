//! Merges alternatives into one object.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::object::{FlatObject, is_any};
use super::rules;

impl FlatObject {
    /// Adds alternatives, of which at least one applies.
    pub(super) fn add_alternatives(&mut self, alternatives: &[Self], is_exclusive: bool) {
        let rule = rules::describe(self, alternatives, is_exclusive);
        let mut required: HashMap<&str, usize> = HashMap::new();
        for name in alternatives.iter().flat_map(|object| object.required.keys()) {
            *required.entry(name).or_default() += 1;
        }
        let first = alternatives
            .iter()
            .take(1)
            .flat_map(|object| object.required.keys());
        let in_all = first.filter(|name| required.get(name.as_str()) == Some(&alternatives.len()));
        let required = in_all.map(|name| (name.clone(), Value::Null)).collect();
        let is_closed = |object: &Self| object.rest.get("additionalProperties") == Some(&Value::Bool(false));
        let mut rest = Map::new();
        if alternatives.iter().all(is_closed) {
            rest.insert("additionalProperties".to_owned(), false.into());
        }
        let properties = self.merge_properties(alternatives);
        self.add(Self {
            properties,
            required,
            rest,
            rules: rule.into_iter().collect(),
        });
    }

    /// Returns the properties of alternatives. A property of this object is only restricted if all alternatives restrict
    /// the property.
    fn merge_properties(&self, alternatives: &[Self]) -> Map<String, Value> {
        let mut names: Vec<&String> = Vec::new();
        let mut merged: HashMap<&String, MergedProperty<'_>> = HashMap::new();
        for (name, schema) in alternatives.iter().flat_map(|object| &object.properties) {
            let property = merged.entry(name).or_insert_with(|| {
                names.push(name);
                MergedProperty::default()
            });
            property.add(schema);
        }
        let mut properties = Map::new();
        for name in names {
            if let Some(property) = merged.get(name)
                && let Some(schema) = property.schema()
                && (property.count == alternatives.len() || !self.properties.contains_key(name))
            {
                properties.insert(name.clone(), schema);
            }
        }
        properties
    }
}

/// The schemas of a property in alternatives.
#[derive(Default)]
struct MergedProperty<'s> {
    /// Different schemas.
    schemas: Vec<&'s Value>,
    /// Number of alternatives with the property.
    count: usize,
    is_any: bool,
}

impl<'s> MergedProperty<'s> {
    fn add(&mut self, schema: &'s Value) {
        self.count += 1;
        let only_union = schema.as_object().filter(|keywords| keywords.len() == 1);
        let alternatives = only_union.and_then(|keywords| keywords.get("anyOf")?.as_array());
        for schema in alternatives.map_or(std::slice::from_ref(schema), Vec::as_slice) {
            self.is_any |= is_any(schema);
            // An alternative with `false` excludes the property.
            if *schema != Value::Bool(false) && !self.schemas.contains(&schema) {
                self.schemas.push(schema);
            }
        }
    }

    /// Returns the schema; `None` if all alternatives exclude the property.
    fn schema(&self) -> Option<Value> {
        match self.schemas.as_slice() {
            [] => None,
            [only] => Some((*only).clone()),
            _ if self.is_any => Some(json!({})),
            several => Some(json!({ "anyOf": several })),
        }
    }
}
