//! Arguments of strict tools. A strict form requires every parameter, so a model sends `null` for a parameter that it leaves out.

use serde_json::Value;

use crate::wire::object::{Change, Object};
use crate::wire::walk;

/// Removes the `null`s of optional parameters whose schemas do not allow `null` from `arguments`, a JSON object. Returns `None` if no `null`
/// was removed.
pub(super) fn without_forced_nulls(arguments: &str, schema: &str) -> Option<String> {
    let root: Value = serde_json::from_str(schema).ok()?;
    let strict = StrictSchema { root: &root };
    strict.changed(arguments, &[&root])
}

/// A schema, whose references are resolved.
struct StrictSchema<'s> {
    root: &'s Value,
}

/// Maximum number of references and unions that are followed to a schema.
const MAX_STEPS: usize = 64;

impl<'s> StrictSchema<'s> {
    /// Returns the alternatives of schemas: the targets of references, and the members of unions.
    fn alternatives(&self, schemas: &[&'s Value]) -> Vec<&'s Value> {
        let mut found = Vec::new();
        let mut open: Vec<&Value> = schemas.to_vec();
        for _ in 0..MAX_STEPS {
            let Some(schema) = open.pop() else { break };
            let reference = schema.get("$ref").and_then(Value::as_str);
            let target = reference.and_then(|reference| self.root.pointer(reference.strip_prefix('#')?));
            open.extend(target);
            for union in ["anyOf", "oneOf", "allOf"] {
                open.extend(schema.get(union).and_then(Value::as_array).into_iter().flatten());
            }
            found.push(schema);
        }
        found
    }

    /// Returns the changed text of a value; `None` if nothing changes.
    fn changed(&self, json: &str, schemas: &[&'s Value]) -> Option<String> {
        let alternatives = self.alternatives(schemas);
        if let Some(object) = Object::from_json(json) {
            return self.changed_object(object, &alternatives);
        }
        if !json.trim_ascii_start().starts_with('[') {
            return None;
        }
        let items: Vec<_> = alternatives
            .iter()
            .filter_map(|schema| schema.get("items"))
            .collect();
        let changed = walk::items(json).map(|item| (item, self.changed(item, &items)));
        let changed: Vec<_> = changed.collect();
        if changed.iter().all(|(_, changed)| changed.is_none()) {
            return None;
        }
        let texts = changed
            .into_iter()
            .map(|(item, changed)| changed.unwrap_or_else(|| item.to_owned()));
        Some(format!("[{}]", texts.collect::<Vec<_>>().join(",")))
    }

    fn changed_object(&self, object: Object<'_>, alternatives: &[&'s Value]) -> Option<String> {
        let mut is_changed = false;
        let mut fields = Vec::new();
        for field in object.last_of_each() {
            let name = field.name();
            let declared: Vec<_> = alternatives
                .iter()
                .filter_map(|schema| Some((*schema, schema.get("properties")?.get(&*name)?)))
                .collect();
            let is_optional = declared.iter().any(|(schema, _)| {
                let required = schema.get("required").and_then(Value::as_array);
                !required.is_some_and(|required| required.iter().any(|required| *required == *name))
            });
            let properties: Vec<_> = declared.into_iter().map(|(_, property)| property).collect();
            if field.value == "null" && is_optional && !self.allows_null(&properties) {
                is_changed = true;
                continue;
            }
            let changed = self.changed(field.value, &properties);
            is_changed |= changed.is_some();
            fields.push((name, changed));
        }
        if !is_changed {
            return None;
        }
        let mut out = String::new();
        object.write(&mut out, |name, _| {
            let (_, changed) = fields.iter().find(|(kept, _)| kept == name)?;
            Some(changed.as_deref().map_or(Change::Keep, Change::To))
        });
        Some(out)
    }

    /// Returns whether one of the schemas allows `null`.
    fn allows_null(&self, schemas: &[&'s Value]) -> bool {
        self.alternatives(schemas).iter().any(|schema| {
            let is_null = |value: &Value| value.is_null() || value == "null";
            let of_type = match schema.get("type") {
                Some(Value::Array(types)) => types.iter().any(is_null),
                Some(kind) => is_null(kind),
                None => false,
            };
            let values = schema.get("enum").and_then(Value::as_array);
            let limits = ["type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"];
            of_type
                || schema.get("nullable") == Some(&Value::Bool(true))
                || values.is_some_and(|values| values.iter().any(Value::is_null))
                || schema.get("const").is_some_and(Value::is_null)
                || limits.iter().all(|keyword| schema.get(keyword).is_none())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r##"{"type":"object","properties":{
        "a":{"type":"integer"},"b":{"type":["integer","null"]},"c":{"type":"string"},"any":{},
        "list":{"type":"array","items":{"$ref":"#/$defs/Item"}},
        "either":{"anyOf":[{"$ref":"#/$defs/Item"},{"type":"string"}]}},
        "required":["c"],"$defs":{"Item":{"type":"object","properties":{"x":{"type":"string"},"y":{"enum":["y",null]}}}}}"##;

    #[test]
    fn nulls_that_the_schema_does_not_allow_are_removed() {
        for (arguments, expected) in [
            (r#"{"a": 1.50, "c":"x"}"#, None),
            (
                r#"{"a":null,"b":null,"c":null,"any":null,"d":null}"#,
                Some(r#"{"b":null,"c":null,"any":null,"d":null}"#),
            ),
            (
                r#"{"list":[{"x":null,"y":null},{"x":"1"}],"n":12345678901234567890123}"#,
                Some(r#"{"list":[{"y":null},{"x":"1"}],"n":12345678901234567890123}"#),
            ),
            (
                r#"{"either":{"x":null},"c":"\u00e9"}"#,
                Some(r#"{"either":{},"c":"\u00e9"}"#),
            ),
            (r#"{"either":"null","list":[null]}"#, None),
        ] {
            let changed = without_forced_nulls(arguments, SCHEMA);
            assert_eq!(changed.as_deref(), expected, "{arguments}");
        }
    }
}
