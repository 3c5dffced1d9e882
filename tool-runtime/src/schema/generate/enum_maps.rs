//! Finds maps with enum keys that no [trace](super::variants) of the type reaches: inside types that serde buffers (`tag`,
//! `untagged`, `flatten`), or after the first item of a tuple.
//!
//! schemars describes such a map as a struct with optional fields of one type. A map accepts duplicate keys, but a struct rejects a
//! "duplicate field". For each schema of this shape, an example with a duplicate key is therefore generated and deserialized.

use std::cell::Cell;
use std::collections::HashSet;
use std::panic::catch_unwind;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::schema::keywords::{reference, subschemas};

/// Returns the JSON Pointers to the maps in `T`, whose schema is in `root` at a JSON Pointer. A map is not found if
/// `T` rejects the generated example because of additional rules.
pub(crate) fn find<T: DeserializeOwned>(root: &Value, pointer: &str) -> Vec<String> {
    find_accepted(root, pointer, |text| serde_json::from_str::<T>(text).is_ok())
}

/// Returns the JSON Pointers to the maps. `accepts` returns whether a text deserializes as the type; a panic counts as a rejection. The
/// function is not generic, since generic code is compiled again for each type of a user.
fn find_accepted(root: &Value, pointer: &str, accepts: fn(&str) -> bool) -> Vec<String> {
    if !contains_candidate(root) {
        return Vec::new();
    }
    let mut examples = Examples {
        root,
        visited: HashSet::new(),
        work: Cell::new(MAX_WORK),
    };
    let found = examples.with_repeated_keys(pointer).into_iter();
    found
        .filter(|(_, text)| catch_unwind(|| accepts(text)).unwrap_or(false))
        .map(|(map, _)| map)
        .collect()
}

/// Returns whether an object has the shape of a map with enum keys: closed, with optional properties of one schema.
pub(super) fn is_candidate(keywords: &Map<String, Value>) -> bool {
    let properties = keywords.get("properties").and_then(Value::as_object);
    let mut values = properties.into_iter().flat_map(Map::values);
    let first = values.next();
    first.is_some()
        && values.all(|value| Some(value) == first)
        && keywords.get("additionalProperties") == Some(&Value::Bool(false))
        && !keywords.contains_key("required")
}

/// Returns whether a schema or one of its subschemas is a candidate.
fn contains_candidate(root: &Value) -> bool {
    let mut pending = vec![root];
    while let Some(schema) = pending.pop() {
        if schema.as_object().is_some_and(is_candidate) {
            return true;
        }
        pending.extend(subschemas::children(schema).into_iter().map(|(_, child)| child));
    }
    false
}

/// Generates examples of schemas as JSON text, since a [`Value`] cannot have duplicate keys.
struct Examples<'a> {
    root: &'a Value,
    /// Schemas whose candidates were listed.
    visited: HashSet<String>,
    /// Remaining number of generated values.
    work: Cell<usize>,
}

/// Maximum number of values. If a type contains another type twice, the number of values doubles with each level.
const MAX_WORK: usize = 20_000;

/// Maximum depth of a value.
const MAX_DEPTH: usize = 16;

/// Maximum length of a list or a text.
const MAX_LENGTH: usize = 64;

impl<'a> Examples<'a> {
    /// Returns, for each candidate in a schema, its JSON Pointer and a value of the schema with a duplicate key in
    /// the candidate.
    fn with_repeated_keys(&mut self, at: &str) -> Vec<(String, String)> {
        let (schema, at) = self.resolve(at);
        let Some(keywords) = schema.as_object().filter(|_| self.visited.insert(at.clone())) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        if is_candidate(keywords) {
            let first = keywords["properties"]
                .as_object()
                .and_then(|properties| properties.iter().next());
            let entry = first.and_then(|(name, value)| Some(entry(name, &self.value(value, 0)?)));
            found.extend(entry.map(|entry| (at.clone(), object(&[entry.clone(), entry]))));
        }
        for (step, _) in subschemas::children(schema) {
            for (candidate, inner) in self.with_repeated_keys(&format!("{at}{step}")) {
                found.extend(
                    self.value_with(keywords, &step, inner)
                        .map(|text| (candidate, text)),
                );
            }
        }
        found
    }

    /// Returns a value of a schema, with a given value for one subschema.
    fn value_with(&self, keywords: &'a Map<String, Value>, step: &str, inner: String) -> Option<String> {
        let mut steps = step.split('/').skip(1);
        let (keyword, place) = (steps.next()?, steps.next());
        match (keyword, place) {
            ("properties", Some(name)) => {
                let name = name.replace("~1", "/").replace("~0", "~");
                let mut entries = self.entries(keywords, &name, 0)?;
                entries.push(entry(&name, &inner));
                Some(object(&entries))
            }
            // schemars writes patterns only for integer keys.
            ("additionalProperties" | "patternProperties", _) => {
                let mut entries = self.entries(keywords, "", 0)?;
                entries.push(entry(
                    if keyword == "patternProperties" { "1" } else { "a" },
                    &inner,
                ));
                Some(object(&entries))
            }
            ("items", None) => Some(format!("[{inner}]")),
            ("prefixItems", Some(index)) => {
                let index: usize = index.parse().ok()?;
                let items = keywords.get("prefixItems")?.as_array()?.iter().enumerate();
                let items: Option<Vec<_>> = items
                    .map(|(at, item)| {
                        if at == index {
                            Some(inner.clone())
                        } else {
                            self.value(item, 0)
                        }
                    })
                    .collect();
                Some(format!("[{}]", items?.join(",")))
            }
            ("anyOf" | "oneOf" | "allOf", Some(_)) => {
                let Some(members) = inner.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')) else {
                    return Some(inner);
                };
                let mut entries = self.own_entries(keywords, "", 0)?;
                entries.push(members.to_owned());
                Some(object(&entries))
            }
            _ => None,
        }
    }

    /// Returns the smallest value of a schema.
    fn value(&self, schema: &'a Value, depth: usize) -> Option<String> {
        let Some(keywords) = schema.as_object() else {
            return (*schema == true).then(|| "null".to_owned());
        };
        let depth = depth + 1;
        if depth > MAX_DEPTH {
            return None;
        }
        self.work.set(self.work.get().checked_sub(1)?);
        if let Some(reference) = keywords.get("$ref").and_then(Value::as_str) {
            return match reference::resolve(self.root, reference) {
                reference::Target::Schema(target, _) => self.value(target, depth),
                _ => None,
            };
        }
        let listed = keywords
            .get("enum")
            .and_then(Value::as_array)
            .and_then(|values| values.first());
        if let Some(value) = keywords.get("default").or(keywords.get("const")).or(listed) {
            return Some(value.to_string());
        }
        let name = match keywords.get("type") {
            Some(Value::Array(names)) => names.first()?.as_str(),
            name => name.and_then(Value::as_str),
        };
        let number = |keyword| keywords.get(keyword).and_then(Value::as_f64);
        let length = |keyword| {
            let length = keywords.get(keyword).and_then(Value::as_u64);
            length.map_or(0, |length| {
                usize::try_from(length).unwrap_or(MAX_LENGTH).min(MAX_LENGTH)
            })
        };
        match name {
            Some("object") => Some(object(&self.entries(keywords, "", depth)?)),
            None if keywords.contains_key("properties") => Some(object(&self.entries(keywords, "", depth)?)),
            None => match ["anyOf", "oneOf", "allOf"]
                .iter()
                .find_map(|union| keywords.get(*union)?.as_array())
            {
                Some(alternatives) => alternatives.iter().find_map(|schema| self.value(schema, depth)),
                None => Some("null".to_owned()),
            },
            Some("array") => {
                let prefix = keywords.get("prefixItems").and_then(Value::as_array);
                let rest = std::iter::repeat(keywords.get("items").unwrap_or(&Value::Bool(true)));
                let schemas = prefix.into_iter().flatten().chain(rest).take(length("minItems"));
                let items: Option<Vec<_>> = schemas.map(|schema| self.value(schema, depth)).collect();
                Some(format!("[{}]", items?.join(",")))
            }
            Some("integer") => Some(number("minimum").unwrap_or(0.0).max(0.0).to_string()),
            Some("number") => Some(number("minimum").unwrap_or(0.0).to_string()),
            Some("boolean") => Some("false".to_owned()),
            Some("string") => {
                let text = match keywords.get("format").and_then(Value::as_str) {
                    Some("date") => "2000-01-01".to_owned(),
                    Some("date-time") => "2000-01-01T00:00:00Z".to_owned(),
                    Some("uuid") => "00000000-0000-0000-0000-000000000000".to_owned(),
                    Some("uri") => "https://example.com/".to_owned(),
                    _ => "a".repeat(length("minLength")),
                };
                Some(json!(text).to_string())
            }
            _ => Some("null".to_owned()),
        }
    }

    /// Returns the required entries of an object except one, with the entries of its unions.
    fn entries(&self, keywords: &'a Map<String, Value>, except: &str, depth: usize) -> Option<Vec<String>> {
        let mut entries = self.own_entries(keywords, except, depth)?;
        for union in ["anyOf", "oneOf", "allOf"] {
            let alternatives = keywords
                .get(union)
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            let taken = if union == "allOf" { usize::MAX } else { 1 };
            for alternative in alternatives.take(taken) {
                let text = self.value(alternative, depth)?;
                entries.push(text.strip_prefix('{')?.strip_suffix('}')?.to_owned());
            }
        }
        Some(entries)
    }

    /// Returns the required entries of an object except one.
    fn own_entries(
        &self,
        keywords: &'a Map<String, Value>,
        except: &str,
        depth: usize,
    ) -> Option<Vec<String>> {
        let required = keywords
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let names = required.filter_map(Value::as_str).filter(|name| *name != except);
        names
            .map(|name| {
                Some(entry(
                    name,
                    &self.value(keywords.get("properties")?.get(name)?, depth)?,
                ))
            })
            .collect()
    }

    /// Returns the schema at a JSON Pointer, with references resolved.
    fn resolve(&self, at: &str) -> (&'a Value, String) {
        let mut at = at.to_owned();
        let mut schema = self.root.pointer(&at).unwrap_or(&Value::Null);
        for _ in 0..MAX_DEPTH {
            let Some(reference) = schema.get("$ref").and_then(Value::as_str) else {
                break;
            };
            let reference::Target::Schema(target, pointer) = reference::resolve(self.root, reference) else {
                break;
            };
            (schema, at) = (target, pointer);
        }
        (schema, at)
    }
}

fn entry(name: &str, value: &str) -> String {
    format!("{}:{value}", json!(name))
}

fn object(entries: &[String]) -> String {
    let entries: Vec<_> = entries
        .iter()
        .map(String::as_str)
        .filter(|entry| !entry.is_empty())
        .collect();
    format!("{{{}}}", entries.join(","))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};

    use schemars::JsonSchema;
    use serde::Deserialize;

    use super::*;

    #[derive(PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
    enum Colour {
        Red,
        Green,
    }

    type Map = BTreeMap<Colour, f32>;

    /// Required members of a value beside a map.
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only deserialized")]
    struct Required {
        map: Option<Map>,
        #[schemars(range(min = 3))]
        number: std::num::NonZeroU8,
        pair: (bool, char),
        #[schemars(length(min = 1))]
        list: Vec<Colour>,
        inner: Box<Untagged>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "only deserialized")]
    enum Untagged {
        Text(String),
        Nested { required: HashMap<String, Required> },
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "type")]
    #[expect(dead_code, reason = "only deserialized")]
    enum Tagged {
        Unit,
        Lists {
            maps: Vec<HashMap<String, Map>>,
            label: String,
        },
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only deserialized")]
    struct Flat {
        name: String,
        #[serde(flatten)]
        tagged: Tagged,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only deserialized")]
    struct Fields {
        one: Option<u8>,
        two: Option<u8>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "only deserialized")]
    enum Both {
        Fields(Fields),
        Map { map: Map },
    }

    #[derive(Debug, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Panics {
        one: Option<u8>,
    }

    impl<'de> Deserialize<'de> for Panics {
        fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
            panic!("a custom implementation")
        }
    }

    fn found<T: DeserializeOwned + JsonSchema>() -> usize {
        let schema = schemars::schema_for!(T).to_value();
        find::<T>(&schema, "").len()
    }

    #[test]
    fn finds_maps_but_not_structs() {
        assert_eq!(found::<Map>(), 1);
        assert_eq!(found::<Option<Map>>(), 1);
        assert_eq!(found::<Required>(), 1);
        assert_eq!(found::<Untagged>(), 1);
        assert_eq!(found::<Tagged>(), 1);
        assert_eq!(found::<Flat>(), 1);
        assert_eq!(found::<Both>(), 1);
        assert_eq!(found::<(u8, Option<Vec<Map>>)>(), 1);
        assert_eq!(found::<Fields>(), 0);
        assert_eq!(found::<BTreeMap<String, f32>>(), 0);
    }

    #[test]
    fn ignores_implementations_that_panic() {
        assert_eq!(found::<Panics>(), 0);
    }
}
