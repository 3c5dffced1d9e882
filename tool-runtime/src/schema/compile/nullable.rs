//! Converts `nullable: true` of OpenAPI 3.0 into JSON Schema.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::schema::check::is_annotation;
use crate::schema::keywords::{reference, subschemas};
use crate::wire::depth;

/// Replaces `nullable: true` by the type `null`.
pub(crate) fn expand_nullable(schema: &Value) -> Cow<'_, Value> {
    // The caller rejects a schema that is too deep.
    if depth::is_too_deep(schema) || !has_nullable(schema) {
        return Cow::Borrowed(schema);
    }
    let wrapped_pointers = wrapped_pointers(schema);
    let mut expanded = schema.clone();
    subschemas::visit_mut(&mut expanded, |keywords| {
        let reference = keywords.get("$ref").and_then(Value::as_str);
        if let Some(relocated) =
            reference.and_then(|reference| relocate(reference, schema, &wrapped_pointers))
        {
            keywords.insert("$ref".to_owned(), relocated.into());
        }
    });
    subschemas::visit_mut(&mut expanded, allow_null);
    Cow::Owned(expanded)
}

/// Returns the JSON Pointers of the schemas that become an `anyOf` with `null`.
fn wrapped_pointers(root: &Value) -> HashSet<String> {
    let mut found = HashSet::new();
    let mut pending = vec![(String::new(), root)];
    while let Some((at, schema)) = pending.pop() {
        let inside = subschemas::children(schema).into_iter();
        pending.extend(inside.map(|(steps, child)| (at.clone() + &steps, child)));
        if schema.as_object().is_some_and(is_wrapped) {
            found.insert(at);
        }
    }
    found
}

/// Returns the new form of a reference into a schema that becomes an `anyOf`.
fn relocate(reference: &str, root: &Value, wrapped_pointers: &HashSet<String>) -> Option<String> {
    let pointer = reference::percent_decode(reference.strip_prefix('#')?);
    root.pointer(&pointer)?;
    let (mut written, mut relocated) = (String::new(), String::new());
    for step in pointer.strip_prefix('/')?.split('/') {
        if wrapped_pointers.contains(&written) && !is_annotation(step) {
            relocated += "/anyOf/0";
        }
        for pointer in [&mut written, &mut relocated] {
            pointer.push('/');
            pointer.push_str(step);
        }
    }
    (relocated != written).then(|| format!("#{}", relocated.replace('%', "%25")))
}

fn has_nullable(schema: &Value) -> bool {
    let mut pending = vec![schema];
    while let Some(schema) = pending.pop() {
        if schema.as_object().is_some_and(is_nullable) {
            return true;
        }
        pending.extend(subschemas::children(schema).into_iter().map(|(_, child)| child));
    }
    false
}

/// Maps a pointer into the expanded schema to a pointer into the original schema.
pub(super) fn original_pointer(written: &Value, path: &str) -> String {
    let steps: Vec<&str> = path.split('/').skip(1).collect();
    let mut rest = steps.as_slice();
    let mut at = String::new();
    loop {
        let here = written.pointer(&at).and_then(Value::as_object);
        if let ["anyOf", "0", inside @ ..] = rest
            && here.is_some_and(is_wrapped)
        {
            rest = inside;
        }
        let [step, more @ ..] = rest else { return at };
        at.push('/');
        at.push_str(step);
        rest = more;
    }
}

fn is_nullable(keywords: &Map<String, Value>) -> bool {
    keywords.get("nullable") == Some(&Value::Bool(true))
}

/// Returns whether allowing `null` needs an `anyOf`.
fn is_wrapped(keywords: &Map<String, Value>) -> bool {
    let mut composing = ["$ref", "allOf", "anyOf", "oneOf", "const"].into_iter();
    is_nullable(keywords) && composing.any(|keyword| keywords.contains_key(keyword))
}

fn allow_null(keywords: &mut Map<String, Value>) {
    if !is_nullable(keywords) {
        return;
    }
    let is_wrapped = is_wrapped(keywords);
    keywords.shift_remove("nullable");
    if is_wrapped {
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

    use super::expand_nullable;

    #[test]
    fn adds_null_to_the_types_of_nullable_schemas() {
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
            let nested = |inner: &Value| json!({ "properties": { "nullable": { "items": inner } } });
            assert_eq!(*expand_nullable(&nested(&schema)), nested(&expected), "{schema}");
        }
    }
}
