//! References and definitions of the flat form.

use std::collections::HashSet;

use serde_json::Value;

use crate::schema::keywords::reference::{self, Target};
use crate::schema::keywords::subschemas;

/// Returns the references in a schema, except for those in unused definitions.
fn references(schema: &Value) -> Vec<&str> {
    let mut found = Vec::new();
    let mut pending = vec![schema];
    while let Some(subschema) = pending.pop() {
        found.extend(subschema.get("$ref").and_then(Value::as_str));
        pending.extend(
            subschemas::children(subschema)
                .into_iter()
                .map(|(_, child)| child),
        );
    }
    found
}

/// Removes references into the replaced keywords: the flat form then allows any value there.
pub(super) fn remove_dangling(schema: &mut Value, root: &Value) {
    let is_dangling = |reference: &&str| {
        matches!(reference::resolve(schema, reference), Target::Missing)
            && matches!(reference::resolve(root, reference), Target::Schema(..))
    };
    let all: HashSet<&str> = references(schema).into_iter().collect();
    let dangling: HashSet<String> = all.into_iter().filter(is_dangling).map(str::to_owned).collect();
    if dangling.is_empty() {
        return;
    }
    subschemas::visit_mut(schema, |keywords| {
        let reference = keywords.get("$ref").and_then(Value::as_str);
        if reference.is_some_and(|reference| dangling.contains(reference)) {
            keywords.shift_remove("$ref");
        }
    });
}

/// Removes definitions without a reference. All are kept beside a reference that is not the pointer to a definition.
pub(super) fn remove_unused_definitions(schema: &mut Value) {
    const MAPS: [&str; 2] = ["$defs", "definitions"];
    let Some(keywords) = schema.as_object_mut() else {
        return;
    };
    let maps = MAPS.map(|name| keywords.shift_remove(name).map(|map| (name, map)));
    let mut used: HashSet<String> = HashSet::new();
    let mut pending: Vec<&Value> = vec![schema];
    let mut is_plain = true;
    while let Some(part) = pending.pop() {
        for reference in references(part) {
            if reference == "#" {
                continue;
            }
            let Some(name) = reference::definition_name(reference) else {
                is_plain = false;
                continue;
            };
            let definitions = maps.iter().flatten().filter_map(|(_, map)| map.get(&name));
            if !used.contains(&name) {
                pending.extend(definitions);
                used.insert(name);
            }
        }
    }
    let maps = maps.into_iter().flatten();
    let kept: Vec<(&str, Value)> = maps
        .map(|(keyword, mut map)| {
            if let Some(map) = map.as_object_mut().filter(|_| is_plain) {
                map.retain(|name, _| used.contains(name));
            }
            (keyword, map)
        })
        .filter(|(_, map)| map.as_object().is_none_or(|map| !map.is_empty()))
        .collect();
    if let Some(keywords) = schema.as_object_mut() {
        keywords.extend(kept.into_iter().map(|(keyword, map)| (keyword.to_owned(), map)));
    }
}
