//! Corrections of keywords.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::subschema::CorrectedSchema;
use super::type_names;
use crate::schema::compiled::types::NAMES;
use crate::wire::issue::excerpt;

impl CorrectedSchema<'_> {
    /// Reads `[]` as `{}`: PHP serializes an empty object as `[]`.
    pub(super) fn read_empty_lists(&mut self) {
        const SCHEMAS: [&str; 2] = ["items", "additionalProperties"];
        const NAMED: [&str; 4] = ["properties", "patternProperties", "$defs", "definitions"];
        const OTHER: [&str; 3] = ["dependentSchemas", "dependentRequired", "dependencies"];
        let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
        for keyword in SCHEMAS.into_iter().chain(NAMED).chain(OTHER) {
            if let Some(value) = self.keywords.get_mut(keyword)
                && is_empty(value)
            {
                *value = Map::new().into();
                self.warn(keyword, EMPTY_LIST);
            }
        }
        for keyword in NAMED {
            let schemas = self.keywords.get_mut(keyword).and_then(Value::as_object_mut);
            let mut empty = Vec::new();
            for (name, schema) in schemas.into_iter().flatten() {
                if is_empty(schema) {
                    *schema = Map::new().into();
                    empty.push(name.clone());
                }
            }
            for name in empty {
                self.warn_at(&[keyword, &name], EMPTY_LIST);
            }
        }
    }
}

const EMPTY_LIST: &str = "`[]` was read as `{}`";

impl CorrectedSchema<'_> {
    /// Removes `"required": {}`: Lua serializes an empty list as `{}`.
    pub(super) fn remove_empty_required(&mut self) {
        let required = self.keywords.get("required").and_then(Value::as_object);
        if required.is_some_and(Map::is_empty) {
            self.keywords.shift_remove("required");
            self.warn("required", "`{}` was read as `[]`");
        }
    }

    /// Removes keywords with the value `null`: some serializers write missing values as `null`.
    pub(super) fn remove_null(&mut self) {
        // Excludes `type`, whose `null` may mean the type `null`, and keywords whose value may be `null`.
        const KEYWORDS: [&str; 29] = [
            "$ref",
            "$defs",
            "definitions",
            "enum",
            "properties",
            "patternProperties",
            "additionalProperties",
            "required",
            "minProperties",
            "maxProperties",
            "dependentRequired",
            "dependentSchemas",
            "items",
            "prefixItems",
            "minItems",
            "maxItems",
            "uniqueItems",
            "minLength",
            "maxLength",
            "pattern",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
            "nullable",
            "anyOf",
            "oneOf",
            "allOf",
        ];
        for keyword in KEYWORDS {
            if self.keywords.get(keyword).is_some_and(Value::is_null) {
                self.keywords.shift_remove(keyword);
                self.warn(keyword, "`null` was read as an absent keyword");
            }
        }
    }

    /// Reads a type name in place of a schema: `"properties": { "a": "string" }`.
    pub(super) fn read_string_schemas(&mut self) {
        let mut found: Vec<(Vec<String>, String)> = Vec::new();
        for (keyword, value) in self.keywords.iter_mut() {
            let steps = |last: Option<String>| std::iter::once(keyword.clone()).chain(last).collect();
            match (keyword.as_str(), value) {
                ("properties" | "patternProperties" | "$defs" | "definitions", Value::Object(named)) => {
                    for (name, schema) in named {
                        found.extend(
                            read_string_schema(schema)
                                .map(|type_name| (steps(Some(name.clone())), type_name)),
                        );
                    }
                }
                ("anyOf" | "oneOf" | "allOf" | "prefixItems" | "items", Value::Array(schemas)) => {
                    for (index, schema) in schemas.iter_mut().enumerate() {
                        found.extend(
                            read_string_schema(schema)
                                .map(|type_name| (steps(Some(index.to_string())), type_name)),
                        );
                    }
                }
                ("items" | "additionalProperties", schema) => {
                    found.extend(read_string_schema(schema).map(|type_name| (steps(None), type_name)));
                }
                _ => {}
            }
        }
        for (steps, type_name) in found {
            let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
            self.warn_at(
                &steps,
                format!("the string `{type_name}` was read as a schema of this type"),
            );
        }
    }
}

/// Replaces a type name by its schema, and returns an excerpt of the name.
fn read_string_schema(schema: &mut Value) -> Option<String> {
    let type_name = schema.as_str()?;
    let (read, type_name) = (type_names::read(type_name)?, excerpt(type_name).into_owned());
    *schema = read.into();
    Some(type_name)
}

impl CorrectedSchema<'_> {
    /// Reads type names of other languages.
    pub(super) fn read_type_names(&mut self) {
        match self.keywords.get("type") {
            Some(Value::String(type_name)) if !is_name(type_name) => {
                let type_name = type_name.clone();
                self.read_type_name(&type_name);
            }
            Some(Value::Array(declared)) => {
                let mut names = Vec::new();
                for type_name in declared {
                    match type_name {
                        Value::String(type_name) if is_name(type_name) => names.push(type_name.clone()),
                        Value::String(type_name) => match type_names::read_name(type_name) {
                            Some(name) => names.push(name),
                            None => return,
                        },
                        Value::Null => names.push("null".to_owned()),
                        _ => return,
                    }
                }
                let names = Value::from(names);
                if self.keywords.get("type") != Some(&names) {
                    let reason = format!("`type` was read as `{}`", excerpt(&names.to_string()));
                    self.keywords.insert("type".to_owned(), names);
                    self.warn("type", reason);
                }
            }
            _ => {}
        }
    }

    fn read_type_name(&mut self, type_name: &str) {
        let keywords = &mut *self.keywords;
        // The values of the `enum` determine the type.
        let read =
            if type_name.eq_ignore_ascii_case("enum") && keywords.get("enum").is_some_and(Value::is_array) {
                Some(Map::new())
            } else {
                type_names::read(type_name)
            };
        let Some(read) = read else { return };
        let reason = match read.get("type") {
            Some(name) => format!("`\"{}\"` was read as `{name}`", excerpt(type_name)),
            None => format!("`\"{}\"` was read as any type", excerpt(type_name)),
        };
        if !read.contains_key("type") {
            keywords.shift_remove("type");
        }
        let is_object = ["properties", "patternProperties", "additionalProperties"]
            .into_iter()
            .any(|keyword| keywords.contains_key(keyword));
        for (keyword, value) in read {
            match keyword.as_str() {
                "additionalProperties" if is_object => {}
                "type" => {
                    keywords.insert(keyword, value);
                }
                _ => {
                    keywords.entry(keyword).or_insert(value);
                }
            }
        }
        self.warn("type", reason);
    }
}

fn is_name(type_name: &str) -> bool {
    NAMES.iter().any(|(known, _)| *known == type_name)
}

impl CorrectedSchema<'_> {
    /// Moves draft 3's `"required": true` from a property to the `required` of the object.
    pub(super) fn move_required(&mut self) {
        // The root is always required.
        if self.path.is_empty() && self.keywords.get("required").is_some_and(Value::is_boolean) {
            self.keywords.shift_remove("required");
            self.warn(
                "required",
                "a boolean was ignored; expected a list of property names",
            );
        }
        let is_list = |required: &Value| required.is_array();
        if !self.keywords.get("required").is_none_or(is_list) {
            return;
        }
        let properties = self.keywords.get_mut("properties").and_then(Value::as_object_mut);
        let mut moved = Vec::new();
        for (name, property) in properties.into_iter().flatten() {
            if let Some(property) = property.as_object_mut()
                && let Some(Value::Bool(is_required)) = property.get("required")
            {
                moved.push((name.clone(), *is_required));
                property.shift_remove("required");
            }
        }
        let mut names = match self.keywords.get("required") {
            Some(Value::Array(names)) if !moved.is_empty() => names.clone(),
            _ => Vec::new(),
        };
        let known: HashSet<String> = names
            .iter()
            .filter_map(|name| Some(name.as_str()?.to_owned()))
            .collect();
        for (name, is_required) in moved {
            let reason = if is_required {
                if !known.contains(&name) {
                    names.push(name.as_str().into());
                }
                "`true` was read as an item of the object's `required`"
            } else {
                "`false` was ignored; the object's `required` lists the required properties"
            };
            self.warn_at(&["properties", &name, "required"], reason);
        }
        if !names.is_empty() {
            self.keywords.insert("required".to_owned(), names.into());
        }
    }

    /// Reads draft 4's `"exclusiveMinimum": true` beside a `minimum`.
    pub(super) fn read_exclusive_limits(&mut self) {
        for (exclusive, inclusive) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
            let Some(Value::Bool(is_exclusive)) = self.keywords.get(exclusive) else {
                continue;
            };
            let reason = match (*is_exclusive, self.keywords.get(inclusive)) {
                (true, Some(limit @ Value::Number(_))) => {
                    let limit = limit.clone();
                    self.keywords.shift_remove(inclusive);
                    let reason = format!("`true` was read as `{limit}`, the limit of `{inclusive}`");
                    self.keywords.insert(exclusive.to_owned(), limit);
                    reason
                }
                (true, _) => continue,
                (false, _) => {
                    self.keywords.shift_remove(exclusive);
                    "`false` was ignored; expected a number".to_owned()
                }
            };
            self.warn(exclusive, reason);
        }
    }

    /// Removes duplicates from lists whose items must be unique.
    pub(super) fn remove_duplicates(&mut self) {
        for keyword in ["required", "type", "enum"] {
            let Some(Value::Array(items)) = self.keywords.get_mut(keyword) else {
                continue;
            };
            let (mut seen, mut removed) = (HashSet::new(), None);
            items.retain(|item| {
                let is_first = seen.insert(item.to_string());
                if !is_first && removed.is_none() {
                    removed = Some(excerpt(&item.to_string()).into_owned());
                }
                is_first
            });
            if let Some(item) = removed {
                self.warn(keyword, format!("the duplicate of `{item}` was left out"));
            }
        }
    }
}
