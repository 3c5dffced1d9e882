//! Schemas of tools in the subset of `OpenAPI` that Google accepts, <https://ai.google.dev/api/caching#Schema>.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// Keywords that Google accepts, with equal meanings.
const KEPT: [&str; 14] = [
    "type",
    "title",
    "description",
    "default",
    "nullable",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
];

/// Keywords that Google rejects, and that constrain values. The description names them.
const CONSTRAINTS: [&str; 22] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "if",
    "items",
    "maxContains",
    "minContains",
    "multipleOf",
    "not",
    "patternProperties",
    "prefixItems",
    "propertyNames",
    "then",
    "uniqueItems",
];

/// Formats that Google accepts.
const FORMATS: [&str; 6] = ["date-time", "enum", "float", "double", "int32", "int64"];

/// Maximum number of converted schemas. References to references could become any number of copies.
const MAX_SCHEMAS: usize = 10_000;

/// Maximum depth of converted schemas.
const MAX_DEPTH: usize = 64;

/// Converts the schema of a tool.
pub(super) fn convert(schema: &str) -> Option<Box<RawValue>> {
    let root = serde_json::from_str(schema).ok()?;
    let mut conversion = OpenApiConversion {
        root: &root,
        references: Vec::new(),
        depth: 0,
        rest: MAX_SCHEMAS,
    };
    let converted = conversion.schema(&root);
    serde_json::value::to_raw_value(&converted).ok()
}

/// Conversion of a schema.
struct OpenApiConversion<'s> {
    root: &'s Value,
    /// References whose targets are being converted.
    references: Vec<String>,
    depth: usize,
    /// Number of schemas that are still converted.
    rest: usize,
}

impl OpenApiConversion<'_> {
    fn schema(&mut self, schema: &Value) -> Map<String, Value> {
        if self.rest == 0 || self.depth == MAX_DEPTH {
            return Map::new();
        }
        self.rest -= 1;
        self.depth += 1;
        let converted = match schema {
            Value::Object(fields) => self.fields(fields),
            Value::Bool(false) => described("No value is valid."),
            _ => Map::new(),
        };
        self.depth -= 1;
        converted
    }

    fn fields(&mut self, fields: &Map<String, Value>) -> Map<String, Value> {
        if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
            return self.reference(reference, fields);
        }
        match fields.get("type") {
            Some(Value::Array(types)) => self.types(types, fields),
            Some(Value::String(kind)) if kind == "null" => nullable(),
            _ => self.keywords(fields),
        }
    }

    /// Converts the target of a reference. A recursive reference accepts any value.
    fn reference(&mut self, reference: &str, fields: &Map<String, Value>) -> Map<String, Value> {
        if self.references.iter().any(|open| open == reference) {
            return Map::new();
        }
        let target = reference
            .strip_prefix('#')
            .and_then(|pointer| self.root.pointer(pointer));
        let mut siblings = fields.clone();
        siblings.retain(|name, _| !matches!(name.as_str(), "$ref" | "$defs" | "definitions"));
        let mut converted = self.schema(&Value::Object(siblings));
        if let Some(target) = target.cloned() {
            self.references.push(reference.to_owned());
            let inlined = self.schema(&target);
            self.references.pop();
            merge(&mut converted, inlined);
        }
        converted
    }

    /// Converts a list of types to `nullable`, and to `anyOf` if several types are left.
    fn types(&mut self, types: &[Value], fields: &Map<String, Value>) -> Map<String, Value> {
        let others: Vec<&Value> = types.iter().filter(|kind| *kind != "null").collect();
        let mut schema = fields.clone();
        let mut converted = match others.as_slice() {
            [] => Map::new(),
            [kind] => {
                schema.insert("type".to_owned(), (*kind).clone());
                self.keywords(&schema)
            }
            _ => {
                let description = schema.remove("description");
                let alternatives = others.iter().map(|kind| {
                    schema.insert("type".to_owned(), (*kind).clone());
                    Value::Object(self.schema(&Value::Object(schema.clone())))
                });
                let alternatives: Vec<Value> = alternatives.collect();
                let description = description.map(|text| ("description".to_owned(), text));
                let alternatives = ("anyOf".to_owned(), Value::Array(alternatives));
                description.into_iter().chain([alternatives]).collect()
            }
        };
        if others.len() < types.len() {
            converted.append(&mut nullable());
        }
        converted
    }

    fn keywords(&mut self, fields: &Map<String, Value>) -> Map<String, Value> {
        let mut converted = Map::new();
        let mut constraints = Map::new();
        let mut parts = Vec::new();
        for (name, value) in fields {
            match (name.as_str(), value) {
                (name, _) if KEPT.contains(&name) => {
                    converted.insert(name.to_owned(), value.clone());
                }
                ("format", Value::String(format)) if FORMATS.contains(&format.as_str()) => {
                    converted.insert(name.clone(), value.clone());
                }
                ("const", value) => parts.push(values(std::slice::from_ref(value))),
                ("enum", Value::Array(items)) => parts.push(values(items)),
                ("properties", Value::Object(properties)) => {
                    let properties = properties
                        .iter()
                        .map(|(name, schema)| (name.clone(), Value::Object(self.schema(schema))));
                    converted.insert(name.clone(), Value::Object(properties.collect()));
                }
                ("items", Value::Object(_) | Value::Bool(_)) => {
                    converted.insert(name.clone(), Value::Object(self.schema(value)));
                }
                ("anyOf" | "oneOf", Value::Array(schemas)) => parts.push(self.alternatives(schemas)),
                ("allOf", Value::Array(schemas)) => {
                    parts.extend(schemas.iter().map(|schema| self.schema(schema)));
                }
                ("required", Value::Array(_)) => {
                    parts.push([(name.clone(), value.clone())].into_iter().collect());
                }
                (name, _) if CONSTRAINTS.contains(&name) && constrains(name, value) => {
                    constraints.insert(name.to_owned(), value.clone());
                }
                _ => {}
            }
        }
        for part in parts {
            merge(&mut converted, part);
        }
        if converted.get("type").is_some_and(|kind| kind == "array") && !converted.contains_key("items") {
            converted.insert("items".to_owned(), json!({}));
        }
        keep_declared(&mut converted);
        if !constraints.is_empty() {
            merge(
                &mut converted,
                described(&format!("Must conform to {}.", Value::Object(constraints))),
            );
        }
        converted
    }

    /// Converts the alternatives of `anyOf` or `oneOf`. `null` becomes `nullable`.
    fn alternatives(&mut self, schemas: &[Value]) -> Map<String, Value> {
        let converted: Vec<_> = schemas.iter().map(|schema| self.schema(schema)).collect();
        let null = nullable();
        let has_null = converted.contains(&null);
        let mut others: Vec<_> = converted.into_iter().filter(|schema| *schema != null).collect();
        let mut converted = if others.len() == 1 {
            others.pop().unwrap_or_default()
        } else {
            let others = others.into_iter().map(Value::Object).collect();
            [("anyOf".to_owned(), Value::Array(others))].into_iter().collect()
        };
        if has_null {
            converted.append(&mut nullable());
        }
        converted
    }
}

/// Returns the schema of fixed values. Google accepts an `enum` of strings alone.
fn values(values: &[Value]) -> Map<String, Value> {
    let others: Vec<&Value> = values.iter().filter(|value| !value.is_null()).collect();
    let mut schema = Map::new();
    if others.is_empty() {
        return nullable();
    }
    if others.iter().all(|value| value.is_string()) {
        schema.insert("type".to_owned(), "string".into());
        schema.insert("enum".to_owned(), others.iter().copied().cloned().collect());
    } else {
        schema.append(&mut described(&format!(
            "Must conform to {}.",
            json!({ "enum": others })
        )));
    }
    if others.len() < values.len() {
        schema.append(&mut nullable());
    }
    schema
}

fn nullable() -> Map<String, Value> {
    [("nullable".to_owned(), Value::Bool(true))].into_iter().collect()
}

fn described(text: &str) -> Map<String, Value> {
    [("description".to_owned(), text.into())].into_iter().collect()
}

/// Returns whether a keyword with this value excludes values.
fn constrains(name: &str, value: &Value) -> bool {
    match name {
        "additionalProperties" | "additionalItems" => *value != true && *value != json!({}),
        "uniqueItems" => *value == true,
        _ => true,
    }
}

/// Adds the keywords of a schema that also applies.
fn merge(schema: &mut Map<String, Value>, other: Map<String, Value>) {
    for (name, value) in other {
        match (schema.get_mut(&name), value) {
            (Some(Value::Object(fields)), Value::Object(others)) if name == "properties" => {
                for (name, value) in others {
                    fields.entry(name).or_insert(value);
                }
            }
            (Some(Value::Array(names)), Value::Array(others)) if name == "required" => {
                for name in others {
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
            }
            (Some(Value::String(text)), Value::String(other)) if name == "description" && *text != other => {
                text.push('\n');
                text.push_str(&other);
            }
            (Some(_), _) => {}
            (None, value) => {
                schema.insert(name, value);
            }
        }
    }
}

/// Removes the names from `required` that are no properties, which Google rejects.
fn keep_declared(schema: &mut Map<String, Value>) {
    let Some(Value::Array(mut names)) = schema.remove("required") else {
        return;
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    names.retain(|name| {
        let name = name.as_str().unwrap_or_default();
        properties.is_some_and(|properties| properties.contains_key(name))
    });
    if !names.is_empty() {
        schema.insert("required".to_owned(), names.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(schema: &Value) -> Value {
        let converted = convert(&schema.to_string()).unwrap();
        serde_json::from_str(converted.get()).unwrap()
    }

    #[test]
    fn schemas_are_in_the_subset_of_google() {
        for (schema, expected) in [
            (
                json!({ "type": ["string", "null"] }),
                json!({ "type": "string", "nullable": true }),
            ),
            (
                json!({ "type": ["string", "integer"], "description": "d" }),
                json!({ "description": "d", "anyOf": [{ "type": "string" }, { "type": "integer" }] }),
            ),
            (
                json!({ "const": "a" }),
                json!({ "type": "string", "enum": ["a"] }),
            ),
            (
                json!({ "enum": ["a", null] }),
                json!({ "type": "string", "enum": ["a"], "nullable": true }),
            ),
            (
                json!({ "type": "integer", "enum": [1, 2] }),
                json!({ "type": "integer", "description": "Must conform to {\"enum\":[1,2]}." }),
            ),
            (
                json!({ "oneOf": [{ "type": "string" }, { "type": "integer" }] }),
                json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] }),
            ),
            (
                json!({ "anyOf": [{ "type": "string" }, { "type": "null" }], "description": "d" }),
                json!({ "description": "d", "type": "string", "nullable": true }),
            ),
            (
                json!({ "allOf": [{ "properties": { "a": {} }, "required": ["a"] }, { "properties": { "b": {} }, "required": ["b", "c"] }] }),
                json!({ "properties": { "a": {}, "b": {} }, "required": ["a", "b"] }),
            ),
            (
                json!({ "type": "number", "exclusiveMinimum": 0, "description": "d" }),
                json!({ "type": "number", "description": "d\nMust conform to {\"exclusiveMinimum\":0}." }),
            ),
            (
                json!({ "type": "object", "additionalProperties": true, "$schema": "s", "examples": [1] }),
                json!({ "type": "object" }),
            ),
            (
                json!({ "type": "string", "format": "uri" }),
                json!({ "type": "string", "description": "Must conform to {\"format\":\"uri\"}." }),
            ),
            (
                json!({ "type": "string", "format": "date-time" }),
                json!({ "type": "string", "format": "date-time" }),
            ),
            (
                json!({ "type": "array" }),
                json!({ "type": "array", "items": {} }),
            ),
            (json!(true), json!({})),
        ] {
            assert_eq!(converted(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn references_are_inlined_and_recursive_references_accept_any_value() {
        let schema = json!({
            "type": "object",
            "properties": { "tree": { "$ref": "#/$defs/Node", "description": "The tree." }, "other": { "$ref": "https://a/b" } },
            "$defs": { "Node": { "type": "object", "properties": { "left": { "$ref": "#/$defs/Node" }, "name": { "$ref": "#/$defs/Name" } } },
                       "Name": { "type": "string" } },
        });
        let node = json!({ "description": "The tree.", "type": "object", "properties": { "left": {}, "name": { "type": "string" } } });
        let expected = json!({ "type": "object", "properties": { "tree": node, "other": {} } });
        assert_eq!(converted(&schema), expected);
    }

    #[test]
    fn references_to_references_do_not_multiply() {
        let mut definitions = Map::new();
        for level in 0..40 {
            let next = json!({ "$ref": format!("#/$defs/{}", level + 1) });
            let list = json!({ "anyOf": [{ "properties": { "a": next, "b": next } }, { "items": next }] });
            definitions.insert(level.to_string(), list);
        }
        let schema = json!({ "$ref": "#/$defs/0", "$defs": definitions });
        let length = convert(&schema.to_string()).unwrap().get().len();
        assert!(length < 2_000_000, "{length}");
    }
}
