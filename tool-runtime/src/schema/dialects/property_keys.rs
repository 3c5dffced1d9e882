//! Renames properties whose keys the Messages API refuses, such as `$top`.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::super::check::{SchemaWarning, is_annotation};
use super::apis::{MAX_KEY_LENGTH, is_key_character, is_property_key};
use crate::schema::keywords::reference::{self, Target};
use crate::schema::keywords::{pointer, subschemas};
use crate::wire::issue::excerpt;

/// Renamed properties of a schema: the model sends the new keys, the handler gets the original ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct PropertyKeys {
    /// Original keys by the new ones.
    originals: HashMap<String, String>,
}

impl PropertyKeys {
    /// Renames properties in a schema of arguments, and in its `required`. A property whose key has a meaning elsewhere
    /// in the schema is not renamed.
    pub(crate) fn rename(root: &mut Value, warnings: &mut Vec<SchemaWarning>) -> Self {
        let mut keys = Self::default();
        let Some(properties) = root.get("properties").and_then(Value::as_object) else {
            return keys;
        };
        if properties.keys().all(|key| is_property_key(key)) {
            return keys;
        }
        let uses = KeyUses::new(root);
        let mut taken: HashSet<String> = properties.keys().cloned().collect();
        let mut renamed: HashMap<String, String> = HashMap::new();
        let mut counts: HashMap<String, usize> = HashMap::new();
        for key in properties
            .keys()
            .filter(|key| !is_property_key(key) && !uses.contain(key))
        {
            let base = replace_invalid(key);
            let mut new = base.clone();
            while !taken.insert(new.clone()) {
                let count = counts.entry(base.clone()).or_insert(1);
                *count += 1;
                let suffix = format!("_{count}");
                let start: String = base.chars().take(MAX_KEY_LENGTH - suffix.len()).collect();
                new = start + &suffix;
            }
            let reason = format!(
                "`{}` was renamed to `{new}`, since the Messages API refuses the property key; the tool receives the original key",
                excerpt(key)
            );
            warnings.push(SchemaWarning::new(pointer::join("/properties", key), reason));
            keys.originals.insert(new.clone(), key.clone());
            renamed.insert(key.clone(), new);
        }
        if let Some(Value::Object(properties)) = root.get_mut("properties") {
            rename_keys(properties, &renamed);
        }
        if let Some(Value::Array(required)) = root.get_mut("required") {
            for name in required {
                if let Some(new) = name.as_str().and_then(|name| renamed.get(name)) {
                    *name = new.as_str().into();
                }
            }
        }
        keys
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.originals.is_empty()
    }

    /// Renames the keys of an example.
    pub(crate) fn rename_example(&self, example: &mut Value) {
        if let Value::Object(example) = example {
            let renamed = self.originals.iter().map(|(new, key)| (key.clone(), new.clone()));
            rename_keys(example, &renamed.collect());
        }
    }

    /// Returns the original keys with the new ones.
    pub(crate) fn original_keys(&self) -> impl Iterator<Item = (Box<str>, Box<str>)> {
        let keys = self.originals.iter();
        keys.map(|(new, original)| (original.as_str().into(), new.as_str().into()))
    }

    /// Restores the original keys of arguments.
    pub(crate) fn restore(&self, arguments: &mut Map<String, Value>) {
        rename_keys(arguments, &self.originals);
    }
}

/// Renames keys, in their order. A renamed key replaces an equal one.
fn rename_keys(object: &mut Map<String, Value>, names: &HashMap<String, String>) {
    if !object.keys().any(|key| names.contains_key(key)) {
        return;
    }
    let new: HashSet<&String> = object.keys().filter_map(|key| names.get(key)).collect();
    let new: HashSet<String> = new.into_iter().cloned().collect();
    let entries = std::mem::take(object).into_iter();
    let renamed = entries.filter_map(|(key, value)| match names.get(&key) {
        Some(name) => Some((name.clone(), value)),
        None => (!new.contains(&key)).then_some((key, value)),
    });
    *object = renamed.collect();
}

/// Replaces characters that the Messages API refuses.
fn replace_invalid(key: &str) -> String {
    let replace = |character| {
        if is_key_character(character) {
            character
        } else {
            '_'
        }
    };
    let replaced: String = key.chars().map(replace).take(MAX_KEY_LENGTH).collect();
    if replaced.is_empty() {
        "_".to_owned()
    } else {
        replaced
    }
}

/// Keys of properties that other parts of the schema mention.
struct KeyUses {
    /// All strings and keys of other keywords.
    mentioned: HashSet<String>,
    /// Targets of references.
    targets: Vec<String>,
    /// Whether a keyword concerns all keys.
    concern_all: bool,
}

impl KeyUses {
    fn new(root: &Value) -> Self {
        const UNRELATED: [&str; 6] = [
            "properties",
            "required",
            "additionalProperties",
            "unevaluatedProperties",
            "$defs",
            "definitions",
        ];
        let mut uses = Self {
            mentioned: HashSet::new(),
            targets: Vec::new(),
            concern_all: ["patternProperties", "propertyNames"]
                .into_iter()
                .any(|keyword| root.get(keyword).is_some()),
        };
        for (keyword, value) in root.as_object().into_iter().flatten() {
            if !UNRELATED.contains(&keyword.as_str()) && !is_annotation(keyword) {
                uses.add_mentioned(value);
            }
        }
        let mut pending = vec![root];
        while let Some(schema) = pending.pop() {
            if let Some(reference) = schema.get("$ref").and_then(Value::as_str)
                && let Target::Schema(_, target) = reference::resolve(root, reference)
            {
                uses.concern_all |= target.is_empty();
                uses.targets.push(target);
            }
            pending.extend(subschemas::children(schema).into_iter().map(|(_, child)| child));
        }
        uses
    }

    fn add_mentioned(&mut self, value: &Value) {
        let mut pending = vec![value];
        while let Some(value) = pending.pop() {
            match value {
                Value::String(text) => {
                    self.mentioned.insert(text.clone());
                }
                Value::Array(items) => pending.extend(items),
                Value::Object(entries) => {
                    self.mentioned.extend(entries.keys().cloned());
                    pending.extend(entries.values());
                }
                _ => {}
            }
        }
    }

    fn contain(&self, key: &str) -> bool {
        let path = pointer::join("/properties", key);
        let leads_inside = |target: &String| {
            let below = target.strip_prefix(&path);
            below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
        };
        self.concern_all || self.mentioned.contains(key) || self.targets.iter().any(leads_inside)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn renamed(schema: &Value) -> (Value, PropertyKeys) {
        let (mut schema, mut warnings) = (schema.clone(), Vec::new());
        let keys = PropertyKeys::rename(&mut schema, &mut warnings);
        assert_eq!(warnings.len(), keys.originals.len());
        (schema, keys)
    }

    #[test]
    fn renames_and_restores_keys_in_their_order() {
        let long = "x".repeat(70);
        let (schema, keys) = renamed(&json!({
            "type": "object",
            "properties": { "$top": { "type": "integer" }, "_top": {}, "/top": {}, "a b.c/ü": {}, "": {}, long.as_str(): {}, "ok": {} },
            "required": ["ok", "$top", ""],
            "additionalProperties": false,
            "description": "$top",
        }));
        let cut = "x".repeat(64);
        assert_eq!(
            schema,
            json!({
                "type": "object",
                "properties": { "_top_2": { "type": "integer" }, "_top": {}, "_top_3": {}, "a_b.c__": {}, "_": {}, cut.as_str(): {}, "ok": {} },
                "required": ["ok", "_top_2", "_"],
                "additionalProperties": false,
                "description": "$top",
            })
        );
        let sent = json!({ "ok": 1, "_top_2": 2, "_top": 3, "_top_3": 4, "a_b.c__": 5, "_": 6, cut.as_str(): 7, "other": 8 });
        let mut arguments = sent.as_object().unwrap().clone();
        keys.restore(&mut arguments);
        let received = json!({ "ok": 1, "$top": 2, "_top": 3, "/top": 4, "a b.c/ü": 5, "": 6, long.as_str(): 7, "other": 8 });
        assert_eq!(serde_json::to_string(&arguments).unwrap(), received.to_string());
        let mut example = received;
        keys.rename_example(&mut example);
        assert_eq!(example.to_string(), sent.to_string());
        // A declared key replaces an equal unknown one.
        let mut arguments = json!({ "$top": 1, "_top_2": 2 }).as_object().unwrap().clone();
        keys.restore(&mut arguments);
        assert_eq!(Value::Object(arguments), json!({ "$top": 2 }));
    }

    #[test]
    fn keys_with_a_meaning_elsewhere_are_kept() {
        let with = |keyword: &str, value: Value| {
            let mut schema =
                json!({ "type": "object", "properties": { "$a": {}, "b": {} }, "required": ["$a"] });
            schema[keyword] = value;
            schema
        };
        for schema in [
            with("dependentRequired", json!({ "b": ["$a"] })),
            with("dependentSchemas", json!({ "$a": {} })),
            with("anyOf", json!([{ "required": ["$a"] }, { "required": ["b"] }])),
            with("if", json!({ "properties": { "$a": { "const": 1 } } })),
            with("not", json!({ "required": ["$a"] })),
            with("patternProperties", json!({ "^\\$": {} })),
            with("propertyNames", json!({ "pattern": "^[$b]" })),
            with("$defs", json!({ "A": { "$ref": "#/properties/$a" } })),
            with("$defs", json!({ "A": { "$ref": "#" } })),
        ] {
            assert_eq!(renamed(&schema).0, schema);
        }
        let other = with("$defs", json!({ "A": { "$ref": "#/properties/b" }, "$a": {} }));
        assert_eq!(renamed(&other).0["required"], json!(["_a"]));
        for schema in [
            json!(true),
            json!({ "properties": [] }),
            json!({ "properties": { "a": {} } }),
        ] {
            assert_eq!(renamed(&schema).0, schema);
        }
    }
}
