//! Schemas with an `$id` of their own inside a schema: every reference becomes a pointer from the root.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use serde_json::Value;

use super::check::SchemaError;
use super::{reference, subschemas, uri};
use crate::depth;
use crate::issue::echo;

/// The same schema with the references that an inner `$id` has a say in led by pointers from the root. What is to be
/// found in another document stays as it is.
pub(crate) fn by_pointer(root: &Value) -> Result<Cow<'_, Value>, SchemaError> {
    if depth::is_too_deep(root) || !root.as_object().is_some_and(|root| root.values().any(has_name)) {
        return Ok(Cow::Borrowed(root));
    }
    let named = Named::of(root)?;
    let mut rewritten = root.clone();
    for reference in &named.references {
        if let Some(target) = named.target(root, reference)?
            && let Some(place) = rewritten
                .pointer_mut(&reference.at)
                .and_then(|schema| schema.get_mut("$ref"))
        {
            // A fragment is unescaped when it is read.
            *place = Value::String(format!("#{}", target.replace('%', "%25")));
        }
    }
    Ok(Cow::Owned(rewritten))
}

/// Whether an `$id` stands in it that is more than an anchor.
fn has_name(value: &Value) -> bool {
    match value {
        Value::Object(keywords) => name(value).is_some() || keywords.values().any(has_name),
        Value::Array(items) => items.iter().any(has_name),
        _ => false,
    }
}

/// What a schema is called; `#name` is draft-07's anchor.
fn name(schema: &Value) -> Option<&str> {
    let name = schema.get("$id")?.as_str()?.split('#').next()?;
    Some(name).filter(|name| !name.is_empty())
}

/// The names that a schema gives, and the references that it makes.
#[derive(Default)]
struct Named<'s> {
    /// From a URI to the pointer of the schema; `None` where two have it.
    resources: HashMap<String, Option<String>>,
    /// From the pointer of a resource and an anchor in it to that of the schema.
    anchors: HashMap<(Rc<str>, &'s str), Option<String>>,
    references: Vec<Reference<'s>>,
}

/// A `$ref`, and what it is relative to.
struct Reference<'s> {
    at: String,
    base: Rc<str>,
    resource: Rc<str>,
    text: &'s str,
}

impl<'s> Named<'s> {
    fn of(root: &'s Value) -> Result<Self, SchemaError> {
        let mut named = Self::default();
        // Up to draft-07 nothing counts beside a `$ref`.
        let dialect = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
        let alone = ["draft-04", "draft-06", "draft-07"]
            .iter()
            .any(|draft| dialect.contains(draft));
        let unnamed: Rc<str> = Rc::from("");
        let mut open = vec![(root, String::new(), Rc::clone(&unnamed), unnamed)];
        while let Some((schema, at, mut base, mut resource)) = open.pop() {
            let text = schema.get("$ref").and_then(Value::as_str);
            if let Some(name) = name(schema).filter(|_| !(alone && text.is_some() && !at.is_empty())) {
                base = Some(uri::resolve(&base, name))
                    .filter(|uri| uri.len() <= LONGEST)
                    .ok_or_else(|| too_long(&at))?
                    .into();
                resource = at.as_str().into();
            }
            if *resource == *at {
                once(&mut named.resources, base.to_string(), &at);
            }
            let id = schema.get("$id").and_then(Value::as_str);
            let anchor = id.and_then(|id| id.strip_prefix('#'));
            if let Some(anchor) = schema.get("$anchor").and_then(Value::as_str).or(anchor) {
                once(&mut named.anchors, (Rc::clone(&resource), anchor), &at);
            }
            for (steps, inner) in subschemas::children(schema) {
                open.push((inner, at.clone() + &steps, Rc::clone(&base), Rc::clone(&resource)));
            }
            named.references.extend(text.map(|text| Reference {
                at,
                base,
                resource,
                text,
            }));
        }
        Ok(named)
    }

    /// The pointer that a reference leads to; `None` when that is not here.
    fn target(&self, root: &Value, reference: &Reference<'_>) -> Result<Option<String>, SchemaError> {
        let (name, fragment) = reference.text.split_once('#').unwrap_or((reference.text, ""));
        let refused = |reason: &str| {
            let place = reference.at.clone() + "/$ref";
            Err(SchemaError::new(
                place,
                format!("`{}` {reason}", echo(reference.text)),
            ))
        };
        let twice = "names two schemas; give each a name of its own";
        let resource = if name.is_empty() {
            Rc::clone(&reference.resource)
        } else {
            match self.resources.get(&uri::resolve(&reference.base, name)) {
                Some(Some(at)) => Rc::from(at.as_str()),
                Some(None) => return refused(twice),
                None => return Ok(None),
            }
        };
        let fragment = reference::unescape(fragment);
        let target = if fragment.is_empty() || fragment.starts_with('/') {
            Some(format!("{resource}{fragment}")).filter(|target| root.pointer(target).is_some())
        } else {
            match self.anchors.get(&(Rc::clone(&resource), &*fragment)) {
                Some(None) => return refused(twice),
                Some(Some(at)) => Some(at.clone()),
                None => None,
            }
        };
        match target {
            Some(target) => Ok(Some(target)),
            None if resource.is_empty() => {
                refused("leads nowhere; write a reference to a schema in this document")
            }
            None => refused(
                "leads nowhere: it is relative to the `$id` above it; write it with the name of its schema in front",
            ),
        }
    }
}

fn once<K: std::hash::Hash + Eq>(names: &mut HashMap<K, Option<String>>, name: K, at: &str) {
    names
        .entry(name)
        .and_modify(|known| *known = None)
        .or_insert_with(|| Some(at.to_owned()));
}

/// How many bytes a whole `$id` has at most: each that stands under it has them again.
const LONGEST: usize = 2048;

fn too_long(at: &str) -> SchemaError {
    let reason = format!("it is a URI of more than {LONGEST} characters; give it a shorter one");
    SchemaError::new(format!("{at}/$id"), reason)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What the only reference of a schema becomes.
    fn led(schema: &Value) -> Result<String, String> {
        let led = by_pointer(schema).map_err(|error| error.to_string())?;
        Ok(led["properties"]["x"]["$ref"].as_str().unwrap().to_owned())
    }

    fn schema(id: &str, reference: &str) -> Value {
        json!({ "$id": id, "properties": { "x": { "$ref": reference } }, "$defs": {
            "item": { "$id": "Item", "$anchor": "it", "$defs": { "50%": { "$anchor": "half" } } },
            "other": { "$id": "https://example.org/a/b.json" },
            "twice": { "$id": "Twice" }, "again": { "$id": "Twice" },
            "half": { "$anchor": "half" },
        } })
    }

    #[test]
    fn names_become_pointers() {
        for (id, reference, target) in [
            ("", "Item", "#/$defs/item"),
            ("", "Item#", "#/$defs/item"),
            ("", "Item#it", "#/$defs/item"),
            ("", "Item#half", "#/$defs/item/$defs/50%25"),
            ("", "Item#/$defs/50%25", "#/$defs/item/$defs/50%25"),
            ("", "#half", "#/$defs/half"),
            ("", "#/$defs/half", "#/$defs/half"),
            ("", "#", "#"),
            ("https://example.org/root.json", "a/b.json", "#/$defs/other"),
            (
                "https://example.org/root.json",
                "https://example.org/Item",
                "#/$defs/item",
            ),
            ("https://example.org/root.json", "root.json#half", "#/$defs/half"),
            ("https://example.org/c/d", "../a/b.json", "#/$defs/other"),
            // Not here: whoever checks the schema says so.
            ("", "b.json", "b.json"),
            (
                "https://example.org/c/d",
                "https://example.org/Item",
                "https://example.org/Item",
            ),
        ] {
            assert_eq!(
                led(&schema(id, reference)).as_deref(),
                Ok(target),
                "{id} {reference}"
            );
        }
    }

    #[test]
    fn what_is_not_there_is_not_looked_for_elsewhere() {
        for (reference, reason) in [
            ("Item#it2", "relative to the `$id`"),
            ("Item#/$defs/half", "relative to the `$id`"),
            ("#it", "leads nowhere; write"),
            ("Twice", "names two schemas"),
        ] {
            let refused = led(&schema("", reference)).unwrap_err();
            assert!(
                refused.contains("/properties/x/$ref") && refused.contains(reason),
                "{refused}"
            );
        }
        // From inside, too: a pointer starts at the nearest `$id`.
        let inside = json!({ "properties": { "x": { "$id": "X", "items": { "$ref": "#/$defs/half" } } }, "$defs": { "half": {} } });
        let refused = by_pointer(&inside).unwrap_err().to_string();
        assert!(refused.contains("`/properties/x/items/$ref`"), "{refused}");
    }

    #[test]
    fn in_draft_07_a_name_beside_a_reference_does_not_count() {
        let sibling = |dialect: &str| {
            let schema = json!({ "$schema": dialect, "$id": "https://example.org/base/",
                "properties": { "x": { "$id": "https://example.org/", "$ref": "foo" } },
                "$defs": { "there": { "$id": "https://example.org/foo" }, "here": { "$id": "foo" } } });
            led(&schema).unwrap()
        };
        assert_eq!(sibling("http://json-schema.org/draft-07/schema#"), "#/$defs/here");
        assert_eq!(
            sibling("https://json-schema.org/draft/2020-12/schema"),
            "#/$defs/there"
        );
    }

    #[test]
    fn a_name_without_end_is_refused() {
        let schema = json!({ "$defs": { "a": { "$id": "a".repeat(1_000_000) } } });
        let refused = by_pointer(&schema).unwrap_err().to_string();
        assert!(
            refused.contains("`/$defs/a/$id`: it is a URI of more"),
            "{refused}"
        );
    }

    #[test]
    fn without_a_name_inside_nothing_is_done() {
        for untouched in [
            json!({ "$id": "https://example.org/root.json", "properties": { "x": { "$ref": "#/$defs/a" } } }),
            json!({ "properties": { "x": { "$id": "#a" }, "$id": { "type": "string" } } }),
        ] {
            assert!(
                matches!(by_pointer(&untouched), Ok(Cow::Borrowed(_))),
                "{untouched}"
            );
        }
    }
}
