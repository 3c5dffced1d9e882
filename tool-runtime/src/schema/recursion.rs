//! Removes duplicates of recursive types: schemars writes each of them where it is first used and again in `$defs`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{marks, pointer, subschemas};

type Keywords = Map<String, Value>;

/// Replaces schemas that are equivalent to a definition by a reference to it.
pub(crate) fn replace_with_references(root: &mut Value) {
    let Value::Object(keywords) = root else {
        return;
    };
    let Some(Value::Object(mut definitions)) = keywords.shift_remove("$defs") else {
        return;
    };
    let known = definitions.clone();
    let known = Definitions(&known);
    for schema in definitions.values_mut() {
        known.replace_children(schema);
    }
    known.replace_children(root);
    if let Value::Object(keywords) = root {
        keywords.insert("$defs".to_owned(), definitions.into());
    }
}

struct Definitions<'d>(&'d Keywords);

impl Definitions<'_> {
    /// Replaces subschemas, outer ones first. Recursive: Rust types do not nest deeply.
    fn replace_children(&self, schema: &mut Value) {
        for child in subschemas::children_mut(schema) {
            match self.reference_for(child) {
                Some(reference) => *child = reference,
                None => self.replace_children(child),
            }
        }
    }

    /// The reference that is equivalent to a schema.
    fn reference_for(&self, schema: &Value) -> Option<Value> {
        let keywords = schema.as_object()?;
        if keywords.contains_key("$ref") {
            return None;
        }
        let mut others = self.0.iter().filter_map(|(name, definition)| {
            let definition = definition.as_object()?;
            let place = json!({ "$ref": pointer::join("#/$defs", name) });
            self.reference_to(definition, place, keywords)
        });
        others.next()
    }

    /// The same for one definition. Further annotations of the schema (description, default, marks) stay beside the reference.
    fn reference_to(&self, definition: &Keywords, place: Value, keywords: &Keywords) -> Option<Value> {
        let mut seen = Vec::new();
        let mut is_nullable = false;
        for (keyword, value) in definition {
            let own = keywords.get(keyword);
            if is_annotation(keyword) || own.is_some_and(|own| self.are_equivalent(own, value, &mut seen)) {
                continue;
            }
            if keyword != "type" || !own.is_some_and(|own| *own == json!([value, "null"])) {
                return None;
            }
            is_nullable = true;
        }
        let mut reference = match place {
            Value::Object(reference) if !is_nullable => reference,
            reference => Map::from_iter([("anyOf".to_owned(), json!([reference, { "type": "null" }]))]),
        };
        for (keyword, value) in keywords {
            let defined = definition.get(keyword);
            if defined.is_some_and(|defined| !is_annotation(keyword) || (defined == value && !is_nullable)) {
                continue;
            }
            if !is_annotation(keyword) && !marks::is_mark(keyword) {
                return None;
            }
            reference.insert(keyword.clone(), value.clone());
        }
        Some(reference.into())
    }

    /// Whether two schemas are equivalent once references are resolved. `seen` has the pairs that are being compared, for
    /// recursive schemas.
    fn are_equivalent<'a>(
        &'a self,
        one: &'a Value,
        other: &'a Value,
        seen: &mut Vec<[*const Value; 2]>,
    ) -> bool {
        match (one, other) {
            (Value::Object(_), Value::Object(_)) => {
                let pair: [*const Value; 2] = [one, other];
                if std::ptr::eq(one, other) || seen.contains(&pair) {
                    return true;
                }
                seen.push(pair);
                let (one, other) = (self.resolved(one), self.resolved(other));
                one.len() == other.len()
                    && one.iter().all(|(keyword, value)| {
                        let counterpart = other.get(keyword);
                        counterpart.is_some_and(|other| self.are_equivalent(value, other, seen))
                    })
            }
            (Value::Array(ones), Value::Array(others)) => {
                let mut pairs = ones.iter().zip(others);
                ones.len() == others.len() && pairs.all(|(one, other)| self.are_equivalent(one, other, seen))
            }
            _ => one == other,
        }
    }

    /// The keywords of a schema; of a reference, those of its definition, overridden by its own.
    fn resolved<'a>(&'a self, schema: &'a Value) -> BTreeMap<&'a str, &'a Value> {
        let reference = schema.get("$ref").and_then(Value::as_str);
        let definition = reference.and_then(|reference| {
            let mut known = self.0.iter();
            known.find_map(|(name, schema)| (pointer::join("#/$defs", name) == reference).then_some(schema))
        });
        let all = |schema: &'a Value| schema.as_object().into_iter().flatten();
        let of_definition = definition.into_iter().flat_map(all);
        let own = all(schema).filter(|(keyword, _)| definition.is_none() || *keyword != "$ref");
        of_definition
            .chain(own)
            .map(|(keyword, value)| (keyword.as_str(), value))
            .collect()
    }
}

/// Whether a keyword may differ between uses of one type.
fn is_annotation(keyword: &str) -> bool {
    matches!(keyword, "description" | "default" | "examples" | "deprecated")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_references(mut root: Value) -> Value {
        replace_with_references(&mut root);
        root
    }

    #[test]
    fn replaces_mutually_recursive_types_with_references() {
        let forest = json!({
            "type": "object",
            "properties": { "tree": {
                "type": "object", "description": "A tree.",
                "properties": { "under": { "$ref": "#/$defs/Forest" } },
            } },
        });
        let tree = json!({
            "type": "object",
            "properties": { "under": {
                "type": "object", "description": "What is under it.",
                "properties": { "tree": { "$ref": "#/$defs/Tree", "description": "A tree." } },
            } },
        });
        let root = json!({
            "properties": { "forest": forest, "tree": tree },
            "$defs": { "Forest": forest, "Tree": tree },
        });
        let uses = json!({
            "forest": { "$ref": "#/$defs/Forest" },
            "tree": { "$ref": "#/$defs/Tree" },
        });
        assert_eq!(with_references(root)["properties"], uses);
    }

    #[test]
    fn keeps_annotations_beside_a_reference() {
        let node = |more: Value| {
            let mut node = json!({ "type": "object", "description": "A node.", "properties": { "next": { "$ref": "#/$defs/Node" } } });
            if let (Value::Object(node), Value::Object(more)) = (&mut node, more) {
                node.extend(more);
            }
            node
        };
        let root = json!({
            "properties": {
                "same": node(json!({})),
                "described": node(json!({ "description": "The first.", "x-strict": true, "default": {} })),
                "nullable": node(json!({ "type": ["object", "null"] })),
                "limited": node(json!({ "minProperties": 1 })),
                "other": { "type": "object", "properties": { "next": {} } },
            },
            "$defs": { "Node": node(json!({})) },
        });
        let expected = json!({
            "same": { "$ref": "#/$defs/Node" },
            "described": { "$ref": "#/$defs/Node", "description": "The first.", "x-strict": true, "default": {} },
            "nullable": { "anyOf": [{ "$ref": "#/$defs/Node" }, { "type": "null" }], "description": "A node." },
            "limited": node(json!({ "minProperties": 1 })),
            "other": { "type": "object", "properties": { "next": {} } },
        });
        let with_references = with_references(root);
        assert_eq!(with_references["properties"], expected);
        assert_eq!(with_references["$defs"]["Node"], node(json!({})));
    }
}
