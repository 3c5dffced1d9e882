//! Requirements of APIs for a schema of arguments: required additions, and rejected parts.
//!
//! The sources are error messages of the APIs, quoted in the issues of many MCP servers: `input_schema.properties:
//! Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'`, `input_schema does not support oneOf, allOf, or
//! anyOf at the top level` (the Messages API); `object schema missing properties`, `array schema missing items`,
//! `schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level` (OpenAI's
//! APIs).

use serde_json::{Map, Value, json};

use super::super::check::{SchemaWarning, is_annotation};
use super::super::flat::FlatSchema;
use crate::schema::keywords::reference::{self, Target};
use crate::schema::keywords::{pointer, subschemas};
use crate::wire::issue::excerpt;

/// Reads a schema without any constraint as the schema of a tool without parameters.
pub(super) fn declare_object(root: &mut Value, warnings: &mut Vec<SchemaWarning>) {
    // PHP serializes an empty object as a list.
    if *root == Value::Bool(true) || *root == json!([]) {
        *root = Map::new().into();
    }
    let Value::Object(keywords) = root else { return };
    if keywords.keys().all(|keyword| is_annotation(keyword)) {
        let annotations = std::mem::take(keywords);
        keywords.insert("type".to_owned(), "object".into());
        keywords.insert("properties".to_owned(), json!({}));
        keywords.extend(annotations);
        let reason = "a schema without constraints was read as `{\"type\":\"object\",\"properties\":{}}`";
        warnings.push(SchemaWarning::new("", reason));
    }
}

/// Adds `"type": "object"` to the root, since arguments are always an object. A recursive schema is not changed: a
/// value with a reference to the root may have another type.
pub(super) fn add_type(root: &mut Value, warnings: &mut Vec<SchemaWarning>) {
    if has_type(root) || is_recursive(root) {
        return;
    }
    let Value::Object(keywords) = root else { return };
    let mut rest = std::mem::take(keywords);
    rest.shift_remove("type");
    keywords.insert("type".to_owned(), "object".into());
    keywords.extend(rest);
    let reason =
        "`\"type\": \"object\"` was added, without which the Messages API and OpenAI's APIs refuse the tool";
    warnings.push(SchemaWarning::new("", reason));
}

fn has_type(root: &Value) -> bool {
    root.get("type").is_some_and(|name| name == "object")
}

/// Returns whether a reference points to the root.
fn is_recursive(root: &Value) -> bool {
    let mut pending = vec![root];
    while let Some(schema) = pending.pop() {
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str)
            && let Target::Schema(_, pointer) = reference::resolve(root, reference)
            && pointer.is_empty()
        {
            return true;
        }
        let inside = subschemas::children(schema).into_iter();
        pending.extend(inside.map(|(_, child)| child));
    }
    false
}

/// Adds `"properties": {}` to the root, since OpenAI's APIs reject a tool without it. There is no warning: MCP
/// recommends a schema without `properties` for tools without parameters.
pub(super) fn add_properties(root: &mut Value, _: &mut Vec<SchemaWarning>) {
    if let Value::Object(keywords) = root {
        keywords.entry("properties").or_insert_with(|| json!({}));
    }
}

/// Adds `"items": {}` to arrays, which allows any items.
pub(super) fn add_items(root: &mut Value, warnings: &mut Vec<SchemaWarning>) {
    let mut lacking = Vec::new();
    let mut pending = vec![(String::new(), &*root)];
    while let Some((path, schema)) = pending.pop() {
        // With `"items": {}`, all items would be evaluated items for `unevaluatedItems`.
        if schema.get("unevaluatedItems").is_some() {
            return;
        }
        let inside = subschemas::children(schema).into_iter();
        pending.extend(inside.map(|(steps, child)| (format!("{path}{steps}"), child)));
        if lacks_items(schema) {
            lacking.push(path);
        }
    }
    for path in lacking {
        if let Some(Value::Object(keywords)) = root.pointer_mut(&path) {
            keywords.insert("items".to_owned(), json!({}));
        }
        let reason = "`\"items\": {}` was added, without which OpenAI's APIs refuse an array";
        warnings.push(SchemaWarning::new(path, reason));
    }
}

fn lacks_items(schema: &Value) -> bool {
    let is_array = match schema.get("type") {
        Some(Value::String(name)) => name == "array",
        Some(Value::Array(names)) => names.iter().any(|name| name == "array"),
        _ => false,
    };
    is_array && schema.get("items").is_none()
}

/// Parts of a schema of arguments that an API rejects, also in its flat form.
pub(crate) struct Refusals {
    /// Parts that the Messages API rejects.
    pub(crate) messages_api: Vec<SchemaWarning>,
    /// Parts that only OpenAI's APIs reject.
    pub(crate) openai: Vec<SchemaWarning>,
}

impl Refusals {
    pub(crate) fn new(root: &Value) -> Self {
        let flat = FlatSchema::new(root);
        let shown = flat.as_ref().map_or(root, |flat| &flat.schema);
        Self {
            messages_api: refused_by_messages_api(root, shown),
            openai: refused_by_openai(shown),
        }
    }
}

fn refused_by_messages_api(root: &Value, shown: &Value) -> Vec<SchemaWarning> {
    let properties = shown.get("properties").and_then(Value::as_object);
    let names = properties.into_iter().flat_map(|properties| properties.keys());
    let of_names = names.filter(|name| !is_property_key(name)).map(|name| {
        let path = pointer::join("/properties", name);
        // A property that the flat form takes from an alternative has no such path; the warning is reported at the root.
        let path = root.pointer(&path).map(|_| path).unwrap_or_default();
        let reason = format!(
            "the Messages API refuses the property key `{}`; expected 1 to 64 of a-z, A-Z, 0-9, `_`, `.` and `-`",
            excerpt(name)
        );
        SchemaWarning::new(path, reason)
    });
    let without_type = (!has_type(shown)).then(|| {
        let reason =
            "the Messages API and OpenAI's APIs refuse a tool without `\"type\": \"object\"`; add it to the schema";
        SchemaWarning::new("", reason)
    });
    of_names.chain(without_type).collect()
}

fn refused_by_openai(shown: &Value) -> Vec<SchemaWarning> {
    let found = ["enum", "not"].into_iter().filter_map(|keyword| {
        shown.get(keyword)?;
        let reason = format!(
            "OpenAI's APIs refuse `{keyword}` at the root; move it into a property, or check it in the tool"
        );
        Some(SchemaWarning::new(pointer::join("", keyword), reason))
    });
    found.collect()
}

/// Maximum length of the key of an argument.
pub(super) const MAX_KEY_LENGTH: usize = 64;

/// Returns whether the Messages API accepts a name as the key of an argument.
pub(super) fn is_property_key(name: &str) -> bool {
    (1..=MAX_KEY_LENGTH).contains(&name.len()) && name.chars().all(is_key_character)
}

/// Returns whether a property key may contain `character`.
pub(super) fn is_key_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '-')
}

/// Adds `"type": "object"` to a root without a type and without compositions, which also enforces the type. A schema of
/// arguments always describes an object.
pub(super) fn declare_type(root: &mut Value, warnings: &mut Vec<SchemaWarning>) {
    const COMPOSITIONS: [&str; 4] = ["$ref", "allOf", "anyOf", "oneOf"];
    let Value::Object(keywords) = root else { return };
    if keywords.contains_key("type") || COMPOSITIONS.iter().any(|keyword| keywords.contains_key(*keyword)) {
        return;
    }
    let rest = std::mem::take(keywords);
    keywords.insert("type".to_owned(), "object".into());
    keywords.extend(rest);
    warnings.push(SchemaWarning::new(
        "",
        "a schema without a type was read as `\"type\": \"object\"`",
    ));
}

/// Returns an error if `$schema` names an unknown dialect, whose keywords may have another meaning.
pub(crate) fn unknown_dialect(root: &Value) -> Option<SchemaWarning> {
    const KNOWN: [&str; 2] = ["json-schema.org/", "spec.openapis.org/"];
    let dialect = root.get("$schema")?.as_str()?;
    let address = dialect
        .strip_prefix("https://")
        .or_else(|| dialect.strip_prefix("http://"));
    let is_known = KNOWN
        .iter()
        .any(|known| address.is_some_and(|address| address.starts_with(known)));
    (!is_known && !dialect.is_empty()).then(|| {
        let reason = format!(
            "unknown dialect `{}`; expected a dialect of json-schema.org",
            excerpt(dialect)
        );
        SchemaWarning::new("/$schema", reason)
    })
}
