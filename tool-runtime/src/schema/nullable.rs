//! `nullable: true` of OpenAPI 3.0 in the words of JSON Schema, which is what all else here understands.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::check::is_annotation;
use super::subschemas;
use crate::depth;

/// The schema with `null` among the types of what is `nullable`.
pub(crate) fn spelled_out(schema: &Value) -> Cow<'_, Value> {
    // One that is too deep is refused by whoever asks.
    if depth::is_too_deep(schema) || !has_nullable(schema) {
        return Cow::Borrowed(schema);
    }
    let mut schema = schema.clone();
    subschemas::each_mut(&mut schema, admit_null);
    Cow::Owned(schema)
}

fn has_nullable(schema: &Value) -> bool {
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        if schema.get("nullable") == Some(&Value::Bool(true)) {
            return true;
        }
        open.extend(subschemas::children(schema).into_iter().map(|(_, child)| child));
    }
    false
}

fn admit_null(keywords: &mut Map<String, Value>) {
    if keywords.get("nullable") != Some(&Value::Bool(true)) {
        return;
    }
    keywords.shift_remove("nullable");
    if ["$ref", "allOf", "anyOf", "oneOf", "const"]
        .into_iter()
        .any(|keyword| keywords.contains_key(keyword))
    {
        let (outer, inner): (Map<_, _>, Map<_, _>) = std::mem::take(keywords)
            .into_iter()
            .partition(|(keyword, _)| is_annotation(keyword));
        keywords.extend(outer);
        keywords.insert("anyOf".to_owned(), json!([inner, { "type": "null" }]));
        return;
    }
    match keywords.get_mut("type") {
        Some(Value::Array(types)) if types.iter().all(|name| name != "null") => types.push("null".into()),
        Some(one @ Value::String(_)) if *one != "null" => *one = json!([one, "null"]),
        _ => {}
    }
    if let Some(Value::Array(values)) = keywords.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::spelled_out;

    #[test]
    fn null_is_one_of_the_types() {
        let rows: [(Value, Value); 6] = [
            (
                json!({ "type": "string", "nullable": true }),
                json!({ "type": ["string", "null"] }),
            ),
            (
                json!({ "type": "string", "enum": ["a"], "nullable": true }),
                json!({ "type": ["string", "null"], "enum": ["a", null] }),
            ),
            (
                json!({ "$ref": "#/$defs/A", "description": "An A.", "nullable": true }),
                json!({ "description": "An A.", "anyOf": [{ "$ref": "#/$defs/A" }, { "type": "null" }] }),
            ),
            (
                json!({ "type": ["integer", "null"], "nullable": true }),
                json!({ "type": ["integer", "null"] }),
            ),
            (
                json!({ "type": "string", "nullable": false }),
                json!({ "type": "string", "nullable": false }),
            ),
            (
                json!({ "enum": [{ "nullable": true }] }),
                json!({ "enum": [{ "nullable": true }] }),
            ),
        ];
        for (schema, expected) in rows {
            let whole = |inner: &Value| json!({ "properties": { "nullable": { "items": inner } } });
            assert_eq!(*spelled_out(&whole(&schema)), whole(&expected), "{schema}");
        }
    }
}
