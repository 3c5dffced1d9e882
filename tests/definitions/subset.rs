//! Checkers of the published subsets of JSON Schema, written from the vendors' documentation.
//!
//! <https://platform.openai.com/docs/guides/structured-outputs#supported-schemas>,
//! <https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations>.

use std::collections::BTreeSet;

use serde_json::Value;

/// Violations of the rules, each with its path.
pub fn violations(root: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if root["type"] != "object" || root.get("anyOf").is_some() {
        found.push("the root must be an object and no union".to_owned());
    }
    check(root, root, "#", &mut found);
    for (name, definition) in root["$defs"].as_object().into_iter().flatten() {
        check(definition, root, &format!("#/$defs/{name}"), &mut found);
    }
    found
}

fn check(schema: &Value, root: &Value, place: &str, found: &mut Vec<String>) {
    let Some(keywords) = schema.as_object() else {
        return found.push(format!("{place}: not an object"));
    };
    let mut allowed: BTreeSet<&str> = ["description"].into();
    if let Some(reference) = schema.get("$ref") {
        allowed = ["$ref"].into();
        let target = reference
            .as_str()
            .and_then(|reference| root.pointer(reference.strip_prefix('#')?));
        if target.is_none() {
            found.push(format!("{place}: {reference} leads nowhere"));
        }
    } else if let Some(alternatives) = schema.get("anyOf") {
        allowed.insert("anyOf");
        for (index, alternative) in alternatives.as_array().unwrap().iter().enumerate() {
            check(alternative, root, &format!("{place}/anyOf/{index}"), found);
        }
    } else {
        let types = match &schema["type"] {
            Value::String(name) => vec![name.as_str()],
            Value::Array(names) if names.len() == 2 && names[1] == "null" => vec![names[0].as_str().unwrap()],
            other => return found.push(format!("{place}: type {other}")),
        };
        allowed.extend(["type", "enum", "const"]);
        for name in types {
            allowed.extend(check_type(name, schema, root, place, found));
        }
    }
    if place == "#" {
        allowed.insert("$defs");
    }
    for keyword in keywords
        .keys()
        .filter(|keyword| !allowed.contains(keyword.as_str()))
    {
        found.push(format!("{place}: `{keyword}` is not supported here"));
    }
}

/// Checks the keywords of a type. Returns the allowed keywords.
fn check_type(
    name: &str,
    schema: &Value,
    root: &Value,
    place: &str,
    found: &mut Vec<String>,
) -> &'static [&'static str] {
    match name {
        "object" => {
            check_object(schema, root, place, found);
            &["properties", "required", "additionalProperties"]
        }
        "array" => {
            check(&schema["items"], root, &format!("{place}/items"), found);
            &["items", "minItems", "maxItems"]
        }
        "string" => {
            const FORMATS: [&str; 9] = [
                "date-time",
                "time",
                "date",
                "duration",
                "email",
                "hostname",
                "ipv4",
                "ipv6",
                "uuid",
            ];
            if let Some(format) = schema.get("format")
                && !FORMATS.iter().any(|known| format == known)
            {
                found.push(format!("{place}: format {format}"));
            }
            &["pattern", "format"]
        }
        "number" | "integer" => &[
            "multipleOf",
            "maximum",
            "exclusiveMaximum",
            "minimum",
            "exclusiveMinimum",
        ],
        "boolean" | "null" => &[],
        other => {
            found.push(format!("{place}: type `{other}`"));
            &[]
        }
    }
}

fn check_object(schema: &Value, root: &Value, place: &str, found: &mut Vec<String>) {
    if schema["additionalProperties"] != false {
        found.push(format!("{place}: `additionalProperties` must be false"));
    }
    let Some(properties) = schema["properties"].as_object() else {
        return found.push(format!("{place}: no `properties`"));
    };
    let names: Vec<_> = properties.keys().cloned().map(Value::from).collect();
    if schema["required"] != Value::from(names) {
        found.push(format!("{place}: every property must be required"));
    }
    for (name, property) in properties {
        check(property, root, &format!("{place}/{name}"), found);
    }
}

/// Finds violations of Anthropic's rules: a list of allowed keywords, and closed objects.
pub fn anthropic_violations(schema: &Value) -> Vec<String> {
    const ALLOWED: [&str; 14] = [
        "type",
        "description",
        "enum",
        "const",
        "anyOf",
        "$ref",
        "$defs",
        "default",
        "required",
        "properties",
        "additionalProperties",
        "format",
        "pattern",
        "items",
    ];
    let mut found = Vec::new();
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        let keywords = schema.as_object().unwrap();
        for (keyword, value) in keywords {
            match keyword.as_str() {
                "properties" | "$defs" => open.extend(value.as_object().unwrap().values()),
                "items" => open.push(value),
                "anyOf" => open.extend(value.as_array().unwrap()),
                "minItems" if *value == 0 || *value == 1 => {}
                keyword if ALLOWED.contains(&keyword) => {}
                _ => found.push(format!("`{keyword}` in {schema}")),
            }
        }
        let is_object = schema.get("type").is_some_and(|name| name == "object");
        if is_object && schema.get("additionalProperties") != Some(&Value::Bool(false)) {
            found.push(format!("{schema} is open"));
        }
    }
    found
}
